"""What nobody should type, paste or open, and links that somebody damaged."""

TEXTS = [
    *("", " ", "0", "-1", "1e999", "nan", "64MiB", "2 s", "25 GB/s", "fast", "\0", "🙂", "a=b,c=d", "x" * 3000),
    *("../../etc/passwd", "<script>1</script>", "GPU0 GPU1\nGPU0 X NV4\n", "{", "[]", "- &a [*a]\n", "4x4", "1;2|3"),
    "ringside: scenario-1\nsize: 3\n",
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
]
LINKS = [
    *("algorithm=allreduce.tree", "algorithm=x", "machine=dgx1v", "machine=switch:ranks=0", "machine=:::", "size=3"),
    *("t=nan", "t=1e9", "view=time", "view=none", "against=size=1|x=2", "against=algorithm=allreduce.linear"),
    *("capture=!!", "capture=example-none", "ranks=9999999", "ranks=1", "root=7", "schedule=example-none"),
    *("fault=dead_link:src=GPU0,dst=NVS0", "fault=lost_nic:nic=NIC0,reroute=yes", "fault=;;", "settings=a=1"),
    *("machine=dgx_a100:hosts=99999", "settings=segments=65536", "fault=straggler", "fault=straggler:rank=99"),
    *("algorithm=allreduce.nosuch", "machine=torus:dims=0x0", "machine=switch:bandwidth=nan", "ranks=²", "t=²"),
    *("root=-1", "against=ranks=²", "counts=1,x", "network=nosuch", "page=![x](http://x/x.png)", "size=[a](http://x)"),
    *("fault=background:streams=0", "algorithm=allreduce.recursive_knomial&settings=radix=0", "view=../../etc"),
    *("workload=none", "workload=fsdp", "lesson=none", "step=-1", "collective=none", "machines=none:1", "sizes=0..1"),
]
