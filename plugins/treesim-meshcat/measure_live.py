"""How soon a live page's controls take effect, how many poses it gets, and what that costs the program.

`python plugins/treesim-meshcat/measure_live.py ROBOT [options of treesim view]` starts `treesim view`, and is a page.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from tornado.websocket import WebSocketClientConnection, websocket_connect

WARM_UP, WATCHED = 10.0, 5.0  # s
EVENTS, PAUSE = 100, 0.013  # of each kind, and seconds between two
LARGEST = 1 << 30  # bytes of a message


class Page:
    """A page that counts frames, keeps the latest state, and waits for what it asked for."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket, self.frames, self.state = socket, 0, {}
        self._changed = asyncio.Condition()

    async def listen(self) -> None:
        """Take all that comes, and acknowledge frames at once."""
        while (message := await self.socket.read_message()) is not None:
            if isinstance(message, bytes):
                self.frames += 1
                await self.socket.write_message(json.dumps({"ack": int.from_bytes(message[4:8], "little")}))
            elif "state" in (told := json.loads(message)):
                async with self._changed:
                    self.state = told["state"]
                    self._changed.notify_all()

    async def latency(self, name: str, value: Any) -> float:
        """Set something, and return the seconds until a state tells that it is set."""
        began = time.perf_counter()
        await self.socket.write_message(json.dumps({"set": {name: value}}))
        async with self._changed:
            await self._changed.wait_for(lambda: self.state.get(name) == value)
        return time.perf_counter() - began

    async def latencies(self, label: str, first: float) -> None:
        """Print how long gains take to be set."""
        seconds = []
        for k in range(EVENTS):
            seconds.append(await self.latency("kp", first + k))
            await asyncio.sleep(PAUSE)
        p50, p95 = np.percentile(np.array(seconds) * 1e3, [50, 95])
        print(f"{label}: a gain is set and told after {p50:.1f} ms (median), {p95:.1f} ms (95 %)")


def used(process: int) -> float:
    """Processor time of a process so far [s]."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(url: str, process: int) -> None:
    """Print what a page of the program at `url` sees."""
    socket = await websocket_connect(url.replace("http", "ws", 1) + "socket", max_message_size=LARGEST)
    socket.protocol.stream.set_nodelay(True)  # as browsers do
    page = Page(socket)
    listening = asyncio.ensure_future(page.listen())
    await asyncio.sleep(WARM_UP)
    frames, busy = page.frames, used(process)
    await asyncio.sleep(WATCHED)
    rate, share = (page.frames - frames) / WATCHED, (used(process) - busy) / WATCHED
    pace = page.state["realTimeFactor"]
    print(f"{rate:.0f} poses a second, {share:.0%} of a core with physics, {pace:.2f} times real time")
    await page.latencies("running", 1000.0)
    for backend in ("crba_ltdl", "aba"):
        print(f"backend {backend} after {1e3 * await page.latency('backend', backend):.0f} ms")
    await page.latency("running", False)
    await page.latencies("paused", 2000.0)
    listening.cancel()


def main() -> None:
    """Start `treesim view` with the options of the command line, and measure."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "treesim", "view", *sys.argv[1:], "--no-browser", "--json"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None
        url = json.loads(program.stdout.readline())["url"]
        print(f"the page is served after {time.perf_counter() - began:.1f} s")
        asyncio.run(measure(url, program.pid))
    finally:
        program.send_signal(signal.SIGINT)
        program.communicate()


if __name__ == "__main__":
    main()
