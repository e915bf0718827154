"""Thread pool for batches: its threads wait in machine code and wake in microseconds.

The code of a batch distributes its work itself: each thread calls the same function on the same job and takes
block after block, so any number of threads, started at any time, complete it. A thread without work watches one
word, the gate, for about 0.1 ms: batches one after the other come sooner than a core takes to wake. Then it
sleeps until the system wakes it. It does not need the interpreter's lock.

The lower half of the gate counts the threads that work, the upper half the places for more. A thread enters by
taking a place. The first thread that finds no block left closes the gate, so nobody waits for a thread that
wakes late.
"""

from __future__ import annotations

import _thread
import ctypes
import math
import os
import sys
import threading
import time
from functools import lru_cache
from typing import Any, ClassVar

from ...system.cores import usable_cores
from . import machine_code
from .builder import Function, Module
from .lanes import Lanes
from .straight_line import Code
from .values import I1, I8, I32, I64, PTR, Value, constant, typed

AWAKE = 100e-6  # [s] that a thread watches the gate before it sleeps
TRIAL = 1000  # rounds of watching that are timed to find how many take this time
OPEN = 1 << 32  # a gate with one place
LARGEST = 1 << 62  # above all gates
ALIGNMENT = 128  # bytes of two cache lines, which some processors fetch together
OBJECT = 128  # bytes, enough for a lock or a condition of every system

# lets the other thread of a core, and the memory, go on between two looks
PAUSES = {"x86_64": ("llvm.x86.sse2.pause", ()), "aarch64": ("llvm.aarch64.isb", (constant(15, I32),))}
ARCHITECTURES = {"arm64": "aarch64", "AMD64": "x86_64"}

# functions of the system: acquire and release a lock; wait for a condition, and wake one who waits
POSIX = "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_signal"
WINDOWS = "AcquireSRWLockExclusive", "ReleaseSRWLockExclusive", "SleepConditionVariableSRW", "WakeConditionVariable"
FOREVER = {"win32": (constant(-1, I32), constant(0, I32))}  # more arguments of the function that waits

_busy = threading.Lock()  # locked while the pool works


class Words(ctypes.Structure):
    """Memory of a pool, whose gate has cache lines of its own.

    rounds: of watching before a thread sleeps. sleepers: number of sleeping threads of the pool. waiting: 1 while the
    caller sleeps until all threads have left. opened, left: their conditions.
    """

    _fields_: ClassVar = [
        ("gate", ctypes.c_int64),
        ("_", ctypes.c_byte * (ALIGNMENT - 8)),
        *((name, ctypes.c_void_p) for name in ("function", "job", "acquire", "release", "wait", "wake")),
        *((name, ctypes.c_int64) for name in ("rounds", "sleepers", "waiting")),
        *((name, ctypes.c_byte * OBJECT) for name in ("lock", "opened", "left")),
    ]


class ThreadPool:
    """Threads that call machine code at the same time as their caller; they are started when needed."""

    def __init__(self) -> None:
        self._code = machine_code.linked("the thread pool", f"thread pool {sys.platform}".encode(), write)
        self._memory = ctypes.create_string_buffer(ctypes.sizeof(Words) + ALIGNMENT)
        self._address = -(-ctypes.addressof(self._memory) // ALIGNMENT) * ALIGNMENT
        self._words = Words.from_address(self._address)
        _prepare(self._words)
        numbers = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
        self._run = self._function("run", *numbers)
        self._serve = self._function("serve", ctypes.c_void_p)
        self._cores, self._rounds = usable_cores(), self._rounds_awake()
        self.threads = 1  # with the caller's

    def _function(self, name: str, *arguments: Any) -> Any:
        return ctypes.CFUNCTYPE(None, *arguments)(self._code.address(name))

    def _rounds_awake(self) -> int:
        """Return how many looks at the gate take the time AWAKE."""
        watch = self._function("watch", ctypes.c_void_p, *[ctypes.c_int64] * 3)
        fastest = math.inf
        for _ in range(3):
            start = time.perf_counter()
            watch(self._address, OPEN, LARGEST, TRIAL)
            fastest = min(fastest, time.perf_counter() - start)
        return int(AWAKE / fastest * TRIAL) + 1

    def run(self, function: int, job: int, threads: int) -> None:
        """Call the machine code at an address, void (*)(void *), on at most `threads` threads; wait for all.

        Not thread-safe. Threads do not stay awake for the next call if there are more than cores.
        """
        if threads > self.threads:
            self._start(threads)
        self._words.rounds = self._rounds if threads <= self._cores else 0
        self._run(self._address, function, job, threads - 1)

    def _start(self, threads: int) -> None:
        try:
            while self.threads < threads:
                _thread.start_new_thread(self._work, ())
                self.threads += 1
        except RuntimeError:  # no more can be started, for example while the interpreter shuts down: fewer will do
            pass

    def _work(self) -> None:
        self._serve(self._address)  # never returns, so this frame keeps the pool's code and memory


@lru_cache(maxsize=1)
def thread_pool() -> ThreadPool:
    """Return the thread pool of this process."""
    return ThreadPool()


def together(function: int, job: Any, threads: int) -> None:
    """Call the machine code at address `function`, void (*)(void *), with `job` on at most `threads` threads; wait.

    The job is an object of ctypes. The caller's thread is one of the threads, and owns the code and all memory whose
    addresses the job contains. While one call uses the pool, calls from other Python threads use only their own: the
    cores are busy.
    """
    if threads > 1 and _busy.acquire(blocking=False):
        try:
            thread_pool().run(function, ctypes.addressof(job), threads)
        finally:
            _busy.release()
    else:
        _called(function)(ctypes.addressof(job))


@lru_cache(maxsize=256)
def _called(address: int) -> Any:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)


def _prepare(words: Words) -> None:
    """Initialize lock, conditions, and addresses of the system's functions."""
    if sys.platform == "win32":
        library: Any = ctypes.WinDLL("kernel32")
    else:
        library = ctypes.CDLL(None)
        start = ctypes.addressof(words)
        for name, initialize in (("lock", "mutex"), ("opened", "cond"), ("left", "cond")):
            place = ctypes.c_void_p(start + getattr(Words, name).offset)
            library[f"pthread_{initialize}_init"](place, None)
    names = WINDOWS if sys.platform == "win32" else POSIX
    for field, name in zip(("acquire", "release", "wait", "wake"), names, strict=True):
        setattr(words, field, ctypes.cast(library[name], ctypes.c_void_p).value)


def _begin_again() -> None:
    """Forget the parent's pool in a forked child, where its threads do not exist."""
    global _busy
    _busy = threading.Lock()
    thread_pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)


# ---- machine code


def write(platform: str = sys.platform, machine: str = "") -> Code:
    """Return the pool's code: functions `watch`, `serve` and `run`.

    machine: processor architecture; this one's by default.
    """
    module = Module(Lanes(single=False, width=1))
    machine = machine or machine_code.processor().triple.partition("-")[0]
    watch = _write_watch(module, ARCHITECTURES.get(machine, machine))
    wait, wake = _write_wait(module, watch, FOREVER.get(platform, ())), _write_wake(module)
    _write_serve(module, wait, wake)
    _write_run(module, wait, wake)
    return Code(module.text(), 0)


def _write_watch(module: Module, machine: str) -> Function:
    """Write watch(pool, least, end, rounds): return whether least <= gate < end within some rounds, one at least."""
    f = module.function("watch", f"{PTR} pool, {I64} least, {I64} end, {I64} rounds", I1, exported=True)
    pool, least, end, rounds = f.arguments
    found = f.label()
    with f.loop(0, rounds, begins=True):
        gate = _atomic_load(f, pool)
        outside = f.either(f.icmp("slt", gate, least), f.icmp("sge", gate, end))
        f.go_on_if(outside, otherwise=found)
        if machine in PAUSES:
            name, given = PAUSES[machine]
            f.library(name, "void", *given)
    f.ret(constant(0, I1))
    f.begin(found)
    f.ret(constant(1, I1))
    return f


def _write_wait(module: Module, watch: Function, forever: tuple[Value, ...]) -> Function:
    """Write wait(pool, least, end, sleepers, condition): return when least <= gate < end.

    Sleeps after some rounds, counted in `sleepers`, until `condition` is signalled.
    """
    f = module.function("wait", f"{PTR} pool, {I64} least, {I64} end, {PTR} sleepers, {PTR} condition")
    pool, least, end, sleepers, condition = f.arguments
    awake, lock = f.label(), _word(f, pool, "lock")
    rounds = _atomic_load(f, _word(f, pool, "rounds"))
    f.go_on_if(f.xor(f.call(watch, pool, least, end, rounds), constant(1, I1)), otherwise=awake)
    f.call_at(_address(f, pool, "acquire"), lock)
    _atomic(f, "add", sleepers, 1)
    with f.forever() as found:
        f.go_on_if(f.xor(f.call(watch, pool, least, end, 0), constant(1, I1)), otherwise=found)
        f.call_at(_address(f, pool, "wait"), condition, lock, *forever)
    _atomic(f, "sub", sleepers, 1)
    f.call_at(_address(f, pool, "release"), lock)
    f.begin(awake)
    f.ret()
    return f


def _write_wake(module: Module) -> Function:
    """Write wake(pool, sleepers, condition, most): wake at most so many who sleep until `condition` is signalled.

    A thread that has counted itself, and is about to sleep, has the lock until it does.
    """
    f = module.function("wake", f"{PTR} pool, {PTR} sleepers, {PTR} condition, {I64} most")
    pool, sleepers, condition, most = f.arguments
    asleep = _atomic_load(f, sleepers)
    count = f.select(f.icmp("slt", asleep, most), asleep, most)
    with f.when(f.icmp("ne", count, 0)):
        for name in ("acquire", "release"):
            f.call_at(_address(f, pool, name), _word(f, pool, "lock"))
        signal = _address(f, pool, "wake")
        with f.loop(0, count):
            f.call_at(signal, condition)
    f.ret()
    return f


def _write_serve(module: Module, wait: Function, wake: Function) -> None:
    """Write serve(pool), which a thread of the pool calls: work on job after job, for ever."""
    f = module.function("serve", f"{PTR} pool", exported=True)
    [pool] = f.arguments
    with f.forever():
        f.call(wait, pool, OPEN, LARGEST, _word(f, pool, "sleepers"), _word(f, pool, "opened"))
        gate = _atomic_load(f, pool)
        with f.when(f.icmp("sge", gate, OPEN)):  # not closed meanwhile
            entered = f.sub(gate, OPEN - 1)  # one place fewer, one thread more
            pair = f"{{ {I64}, {I1} }}"
            tried = f.make(f"cmpxchg {PTR} {pool.name}, {typed(gate)}, {typed(entered)} seq_cst seq_cst", pair)
            with f.when(f.make(f"extractvalue {typed(tried)}, 1", I1)):
                f.call_at(_address(f, pool, "function"), _address(f, pool, "job"))
                _close(f, pool)
                before = _atomic(f, "sub", pool, 1)
                with f.when(f.icmp("eq", before, 1)):
                    f.call(wake, pool, _word(f, pool, "waiting"), _word(f, pool, "left"), 1)
    f.ret()


def _write_run(module: Module, wait: Function, wake: Function) -> None:
    """Write run(pool, function, job, places): work on a job with the threads that take places, and wait for them."""
    f = module.function("run", f"{PTR} pool, {PTR} function, {PTR} job, {I64} places", exported=True)
    pool, function, job, places = f.arguments
    f.store(function, _word(f, pool, "function"))
    f.store(job, _word(f, pool, "job"))
    f.do(f"store atomic {typed(f.mul(places, OPEN))}, {PTR} {pool.name} seq_cst, align 8")
    f.call(wake, pool, _word(f, pool, "sleepers"), _word(f, pool, "opened"), places)
    f.call_at(function, job)
    _close(f, pool)
    f.call(wait, pool, 0, 1, _word(f, pool, "waiting"), _word(f, pool, "left"))
    f.ret()


def _close(f: Function, pool: Value) -> None:
    """Append the removal of all places: no block is left."""
    _atomic(f, "and", pool, OPEN - 1)


def _word(f: Function, pool: Value, name: str) -> Value:
    return f.at(pool, getattr(Words, name).offset, I8)


def _address(f: Function, pool: Value, name: str) -> Value:
    return f.load(_word(f, pool, name), PTR)


def _atomic_load(f: Function, pointer: Value) -> Value:
    return f.make(f"load atomic {I64}, {PTR} {pointer.name} seq_cst, align 8", I64)


def _atomic(f: Function, word: str, pointer: Value, x: int) -> Value:
    """Append an atomic read-modify-write that all threads see in one order; its value is the one before."""
    return f.make(f"atomicrmw {word} {PTR} {pointer.name}, {I64} {x} seq_cst", I64)
