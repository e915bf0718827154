"""The number of states from which batches have code of their own, as tests need it."""

from treesim.engine.call import evaluate
from treesim.states import states

NEVER, ALWAYS = 10**9, 1


def specialize(monkeypatch, least):
    """Let batches of at least so many states have code for the robot."""
    for module in (evaluate, states):
        monkeypatch.setattr(module, "STATES", least)
