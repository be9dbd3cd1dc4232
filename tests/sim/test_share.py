"""What a container leaves a process, read from a tree of control groups like the kernel's."""

import pytest

from sim.base.share import cores_share, memory_share

HOST = memory_share()


def tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    "files, memory, cores",
    [
        (  # version 2: the group's own limit, and a smaller one of the slice that holds it
            {
                "proc/self/cgroup": "0::/kubepods/pod7/box\n",
                "sys/fs/cgroup/kubepods/pod7/box/memory.max": "1000000\n",
                "sys/fs/cgroup/kubepods/pod7/memory.max": "700000\n",
                "sys/fs/cgroup/kubepods/pod7/box/cpu.max": "max 100000\n",
                "sys/fs/cgroup/kubepods/cpu.max": "50000 100000\n",
            },
            700_000,
            0.5,
        ),
        (  # version 2 as a container sees it: its own group is the top
            {
                "proc/self/cgroup": "0::/\n",
                "sys/fs/cgroup/memory.max": "5000000\n",
                "sys/fs/cgroup/cpu.max": "25000 100000\n",
            },
            5_000_000,
            0.25,
        ),
        (  # version 1, whose path outside of the container is nowhere inside
            {
                "proc/self/cgroup": "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "3000000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "75000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            3_000_000,
            0.75,
        ),
        (  # what says no limit is none, and neither is nonsense
            {
                "proc/self/cgroup": "0::/../..\nnonsense\n4:memory:/a\n",
                "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/fs/cgroup/memory.max": "max\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu.max": "many\n",
            },
            HOST,
            None,
        ),
        ({}, HOST, None),
    ],
    ids=["slices", "container", "first version", "no limits", "no groups"],
)
def test_the_smallest_limit_counts(tmp_path, files, memory, cores):
    root = tree(tmp_path, files)
    assert memory_share(root) == memory
    assert cores_share(root) == (cores or cores_share(tmp_path / "nowhere"))
