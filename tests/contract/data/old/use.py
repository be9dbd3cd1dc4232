"""Uses the package by its public names alone."""

import json

import ringside

trace = ringside.simulate(
    ringside.build("switch:ranks=8"), ringside.ALGORITHMS["allreduce.ring"].schedule(8), size=64 * ringside.MiB
)
run = ringside.Request(algorithm="alltoall.bruck", machine="nodes:nodes=2,gpus=3", size="9MiB").run()
step = ringside.WORKLOADS["ddp"].run(ringside.build("switch:ranks=2,bandwidth=3GBps"), {})
print(
    json.dumps(
        {
            "names": dict.fromkeys(sorted(set(dir(ringside)) - {"__version__"}), True),
            "all_there": all(hasattr(ringside, name) for name in dir(ringside) if name != "__version__"),
            "ring": {
                "time_s": trace.time,
                "busbw_Bps": ringside.busbw(trace, 14 / 8),
                "algbw_Bps": ringside.algbw(trace),
            },
            "bottleneck": list(ringside.bottleneck(trace)),
            "bruck": {"time_s": run.trace.time, "end_s": run.trace.end.tolist()},
            "ddp": {"time_s": step.time, "exposed_s": step.exposed_s},
            "units": [ringside.MiB, ringside.GBps, ringside.ms, ringside.us, ringside.parse_bandwidth("200Gbps")],
        }
    )
)
