"""Measure a live page: latency of its controls, number of poses, and the program's processor time by part.

`python plugins/treesim-meshcat/measure_live.py ROBOT [options of treesim view]` starts `treesim view` with
clocks, and acts as a page. Fractions are of one core, in processor time: other programs do not count.
"""

from __future__ import annotations

import asyncio
import functools
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from tornado.websocket import WebSocketClientConnection, websocket_connect

WARM_UP, WATCHED = 10.0, 5.0  # s
EVENTS, PAUSE = 100, 0.013  # of each kind, and seconds between two
LARGEST = 1 << 30  # bytes of a message
CLOCKED = "clocked"  # first argument of this file as the program that is measured


def show(quantity: str, value: str, unit: str) -> None:
    """Print a line of the table of results."""
    print(f"{quantity:42}  {value:>6}  {unit}")


class Page:
    """Page that counts frames, stores the latest state, and waits for the effect of its requests."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket, self.frames, self.state = socket, 0, {}
        self._changed = asyncio.Condition()

    async def listen(self) -> None:
        """Receive all messages, and acknowledge frames at once."""
        while (message := await self.socket.read_message()) is not None:
            if isinstance(message, bytes):
                self.frames += 1
                await self.socket.write_message(json.dumps({"ack": int.from_bytes(message[4:8], "little")}))
            elif "state" in (details := json.loads(message)):
                async with self._changed:
                    self.state = details["state"]
                    self._changed.notify_all()

    async def latency(self, name: str, value: Any) -> float:
        """Set a value, and return the seconds until a state contains it."""
        began = time.perf_counter()
        await self.socket.write_message(json.dumps({"set": {name: value}}))
        async with self._changed:
            await self._changed.wait_for(lambda: self.state.get(name) == value)
        return time.perf_counter() - began

    async def plays(self) -> None:
        """Wait until physics runs, and its speed is known."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.state.get("realTimeFactor"))

    async def latencies(self, label: str, first: float) -> None:
        """Print the latency of changes of gains."""
        seconds = []
        for k in range(EVENTS):
            seconds.append(await self.latency("kp", first + k))
            await asyncio.sleep(PAUSE)
        p50, p95 = np.percentile(np.array(seconds) * 1e3, [50, 95])
        show(f"latency of a gain, {label}: median", f"{p50:.1f}", "ms")
        show(f"latency of a gain, {label}: 95 % below", f"{p95:.1f}", "ms")


class Clocks:
    """Processor time of parts of a program's main thread."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def clocked(self, owner: Any, name: str, part: str) -> None:
        """Measure a method of a class; time spent in another measured method counts for both."""
        inner: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(inner)
        def outer(*args: Any, **kwargs: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():  # which compiles
                return inner(*args, **kwargs)
            began = time.thread_time()
            try:
                return inner(*args, **kwargs)
            finally:
                self.seconds[part] += time.thread_time() - began

        setattr(owner, name, outer)

    def send(self, *_: object) -> None:
        """Print the seconds so far of all parts, of the playing and serving threads, and of the process."""
        now = time.clock_gettime
        serving = [thread.ident for thread in threading.enumerate() if thread.name == "treesim-meshcat"]
        sending = sum(now(time.pthread_getcpuclockid(ident)) for ident in serving if ident)
        details = {**self.seconds, "sending": sending, "playing": time.thread_time(), "all": time.process_time()}
        print(json.dumps(details), flush=True)


def clocked_program(options: list[str]) -> None:
    """Run `treesim view` with clocks, which are printed at SIGUSR1."""
    from treesim_meshcat import MeshcatViewer

    from treesim.cli.main import main as treesim
    from treesim.simulation.simulation import Simulation
    from treesim.viewing.live import LiveSession

    clocks = Clocks()
    clocks.clocked(Simulation, "step", "physics")
    clocks.clocked(LiveSession, "_send_state", "states")
    clocks.clocked(MeshcatViewer, "update", "poses")
    signal.signal(signal.SIGUSR1, clocks.send)
    sys.argv = ["treesim", "view", *options, "--no-browser", "--json"]
    treesim()


class Program:
    """Measured program, in a process of its own."""

    def __init__(self, options: list[str]) -> None:
        command = [sys.executable, __file__, CLOCKED, *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url: str = self._line()["url"]

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        details: dict[str, Any] = json.loads(self._process.stdout.readline())
        return details

    def used(self) -> dict[str, float]:
        """Return the processor time so far, by part [s]."""
        self._process.send_signal(signal.SIGUSR1)
        return self._line()

    def end(self) -> None:
        """End the program; not by SIGINT, which jobs in the background of a shell ignore."""
        self._process.terminate()
        self._process.communicate()


async def measure(program: Program) -> None:
    """Print the measurements of a page of the program."""
    address = program.url.replace("http", "ws", 1) + "socket"
    socket = await websocket_connect(address, max_message_size=LARGEST)
    socket.protocol.stream.set_nodelay(True)  # as browsers do
    page = Page(socket)
    listening = asyncio.ensure_future(page.listen())
    await page.plays()
    await asyncio.sleep(WARM_UP)
    frames, before, began = page.frames, program.used(), time.perf_counter()
    await asyncio.sleep(WATCHED)
    after, watched = program.used(), time.perf_counter() - began
    rate, pace = (page.frames - frames) / watched, page.state["realTimeFactor"]
    show("quantity", "value", "unit")
    show("poses", f"{rate:.0f}", "1/s")
    show("speed", f"{pace:.2f}", "x real time")
    share = {part: (after[part] - before[part]) / watched for part in after}
    rest = share["playing"] - sum(share[part] for part in ("physics", "poses", "states"))
    outside = share["playing"] - share["physics"] + share["sending"]
    parts = {
        **{part: share[part] for part in ("physics", "poses", "states")},
        "the loop": rest,
        "sending": share["sending"],
    }
    for part, value in {**parts, "all but physics": outside}.items():
        show(f"processor time of {part}", f"{100 * value:.1f}", "% of a core")
    await page.latencies("running", 1000.0)
    for backend in ("crba_ltdl", "aba"):
        show(f"latency of backend {backend}", f"{1e3 * await page.latency('backend', backend):.0f}", "ms")
    await page.latency("running", False)
    await page.latencies("paused", 2000.0)
    listening.cancel()


def main() -> None:
    """Start `treesim view` with the options of the command line, and measure."""
    if sys.argv[1:2] == [CLOCKED]:
        clocked_program(sys.argv[2:])
        return
    program = Program(sys.argv[1:])
    try:
        asyncio.run(measure(program))
    finally:
        program.end()


if __name__ == "__main__":
    main()
