"""Machine code that is looked up anew, as in a new process."""

from weakref import WeakKeyDictionary

from treesim.engine.call import specialized
from treesim.engine.llvm.shared_code import SharedCode
from treesim.states import states


def forget_code(monkeypatch):
    """Let functions look up their code again."""
    for name in ("_codes", "_functions"):
        monkeypatch.setattr(specialized, name, SharedCode())
    monkeypatch.setattr(states, "_batch_entries", WeakKeyDictionary())
