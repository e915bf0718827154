"""Machine code in memory, shared by equal requests and freed when unused."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from ..threads import lock_across_forks

RECENT = 64  # most recently requested codes, which stay without references

Code = TypeVar("Code")


class SharedCode(Generic[Code]):
    """Cache of code by its identity: an entry stays as long as it is referenced, the last RECENT ones in any case.

    Codes must support weak references. Thread-safe: one thread compiles at a time; existing code is returned
    without waiting.
    """

    def __init__(self) -> None:
        self._living: WeakValueDictionary[Hashable, Code] = WeakValueDictionary()
        self._recent: OrderedDict[Hashable, Code] = OrderedDict()
        self._making, self._counting = lock_across_forks(), lock_across_forks()

    def get(self, identity: Hashable, make: Callable[[], Code]) -> Code:
        """Return the code of an identity, from `make` if there is none; exceptions of `make` are not cached."""
        code = self._living.get(identity)
        if code is None:
            with self._making:
                code = self._living.get(identity)  # made by another thread
                if code is None:
                    code = self._living[identity] = make()
        self._hold(identity, code)
        return code

    def _hold(self, identity: Hashable, code: Code) -> None:
        """Keep a reference to code until RECENT others have been requested."""
        with self._counting:
            self._recent[identity] = code
            self._recent.move_to_end(identity)
            oldest = self._recent.popitem(last=False) if len(self._recent) > RECENT else None
        del oldest  # outside the lock, since freeing code may wait for a compiler
