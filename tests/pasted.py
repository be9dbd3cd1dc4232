"""What launchers, logs, terminals, mail and editors put in front of lines."""

from hypothesis import strategies as st

PREFIXES = (
    "0: ", "   0: ", " 12: ", "3.0: ", "[1,0]<stdout>:", "    [1,0]<stdout>:", "[1,12]<stderr>: ",
    "&#91;1,0]&lt;stdout&gt;:",
    "[prterun-node7-4711@1,0]<stdout>: ", "[1,0][node7:4711]<stdout>: ", "Mon Sep  1 10:11:12 2025[1,0]<stdout>:",
    '<stdout rank="0">', "node017: ", "ip-10-0-0-1.ec2.internal: ", "nid[001-004]: ", "nccl-test-launcher-x7kqz: ",
    "worker-1  | ", "nccl_1 | ", "> ", ">> ", "> > ", "    ", "\t", "# ", "// ", "+ ", "\x1b[0m", "\x1b[1;32m", "^[[4m",
    "[0] ", "[rank0]: ", "[default0]:", "[pod/nccl-launcher-0/main] ", "(head, rank=0, pid=3808) ",
    "(RayTrainWorker pid=123, ip=10.0.0.1) ", "2025-09-01T10:11:12Z ", "2025-09-01T10:11:12.123456789Z ",
    "2025-09-01 10:11:12,123 ", "2025-09-01T10:11:12+0200 ", "2025/09/01 10:11:12 ", "[2025-09-01 10:11:12] ",
    "10:11:12 ", "[10:11:12.345] ", "[   12.345678] ", "Sep  1 10:11:12 ", "Sep  1 10:11:12 node7 slurmd[123]: ",
    "2025-09-01T10:11:12+0000 node7 kubelet[7]: ", "I0901 10:11:12.123456 12345 main.cc:12] ", "1756721472.123 ",
    "INFO: ", "[INFO] ", "7:", "7: ", "7-  ", "log.txt:7:", "run/out.log:", "7. ", "- ", "• ", "7 │ ", "&gt; ",
    "&nbsp;&nbsp;",
)  # fmt: skip


def prefixed(text: str, *prefixes: str) -> str:
    """Every line of a text with the prefixes in front."""
    before = "".join(prefixes)
    return "".join(f"{before}{line}\n" for line in text.splitlines())


def several_prefixes() -> st.SearchStrategy[list[str]]:
    """One launcher's prefix or two, one around the other; what needs the line to begin with it comes first."""
    some = st.lists(st.sampled_from(PREFIXES), min_size=1, max_size=2)
    return some.filter(lambda prefixes: "".join(prefixes).count("|") + "".join(prefixes).count("│") < 2)


def numbered(text: str) -> str:
    """A text as `cat -n` prints it."""
    return "".join(f"{number:6}\t{line}\n" for number, line in enumerate(text.splitlines(), 1))
