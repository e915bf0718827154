"""Benchmarks of treesim, compared with other engines in the same process; the functions behind `treesim bench`.

`time_calls`, `time_batches`, `time_derivatives`, `time_sizes`, `time_contact`, `time_requests` and `time_worlds`
return a `Benchmark`; `time_start` and `time_robots` plain dictionaries. `interleaved` times any calls
in turns, and `measured` any `treesim.compare.BenchmarkCase`.
"""

from .contact import time_contact
from .contact_requests import time_requests
from .measure import measured
from .ratios import ratios
from .results import Benchmark
from .robots import BenchRobot, bench_robot
from .runs import time_batches, time_calls, time_derivatives, time_robots, time_sizes, time_start
from .timing import Timing, interleaved
from .worlds import time_worlds

__all__ = [
    "BenchRobot",
    "Benchmark",
    "Timing",
    "bench_robot",
    "interleaved",
    "measured",
    "ratios",
    "time_batches",
    "time_calls",
    "time_contact",
    "time_derivatives",
    "time_requests",
    "time_robots",
    "time_sizes",
    "time_start",
    "time_worlds",
]
