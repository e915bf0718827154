"""An engine that fails on the raw level as its fault has it, and is treesim itself otherwise; faults that return name
those that are known of it, and half the masses are lost."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace

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


def lose_a_mass():
    return ("it loses masses",)


def lose_a_mass_untold():
    return ()


class FaultyModel(TreesimModel):
    fault = None

    def evaluate(self, states):
        known_faults = None if self.fault is None else self.fault()
        results = super().evaluate(states)
        if known_faults is None:
            return results
        return replace(
            results, values=results.values | {"mass": 0.5 * results.values["mass"]}, known_faults=known_faults
        )


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
