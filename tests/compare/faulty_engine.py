"""An engine that fails on the raw level as it is told to, and is treesim itself otherwise."""

from __future__ import annotations

import os
import signal
import sys
import time

from treesim.compare import RAW, EngineError
from treesim.compare.treesim_engine import TreesimEngine, TreesimModel
from treesim.errors import UnsupportedError


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    time.sleep(60)


def leave():
    sys.stderr.write("no memory left\n")
    sys.stderr.flush()
    os._exit(7)


def err():
    raise IndexError("link 9")


def fail():
    raise EngineError("it reads other joints")


def refuse():
    raise UnsupportedError("it knows no such joint")


class FaultyModel(TreesimModel):
    fault = None

    def evaluate(self, states):
        if self.fault is not None:
            self.fault()
        return super().evaluate(states)


class FaultyEngine(TreesimEngine):
    name = "faulty"
    title = "Faulty"

    def __init__(self, fault):
        super().__init__("bullet")
        self.fault = fault

    def read(self, robot, urdf, level):
        model = FaultyModel(robot, self.integrator)
        model.fault = self.fault if level == RAW else None
        return model
