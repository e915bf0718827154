"""Runs WebAssembly modules with wasmtime: memory, stack and arrays, as a page lays them out."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from treesim.export.contact_module import ContactModule
from treesim.export.kernel_module import KernelModule
from treesim.export.webassembly import StepModule
from treesim.kernels.entries.status import FINE
from treesim.kernels.stepping.mean_force import mean_force
from treesim.kernels.stepping.rules import RULES
from treesim.kernels.stepping.step import COLUMNS, SATURATED, Settings
from treesim.simulation.effort_limits import REPEATS
from treesim.simulation.step_settings import StepSettings
from treesim.simulation.world import World

wasmtime = pytest.importorskip("wasmtime", reason="needs wasmtime (pip install wasmtime)")


ENGINE = wasmtime.Engine()


@cache
def compiled(code: bytes) -> wasmtime.Module:
    """Compile a module once: that of a robot takes seconds, and every test has an instance of its own."""
    return wasmtime.Module(ENGINE, code)


class Instance:
    """An instance of a module: `call(name, address)`, and its memory as an array of doubles."""

    def __init__(self, code: bytes, pages: int, stack: int) -> None:
        self.store = wasmtime.Store(ENGINE)
        module = compiled(code)
        self.imports = {(x.module, x.name) for x in module.imports}
        memory = wasmtime.Memory(self.store, wasmtime.MemoryType(wasmtime.Limits(pages, None)))
        kind = wasmtime.GlobalType(wasmtime.ValType.i32(), True)
        given = {
            "__linear_memory": memory,
            "__stack_pointer": wasmtime.Global(self.store, kind, wasmtime.Val.i32(stack)),
        }
        real = wasmtime.ValType.f64()
        for name in ("sin", "cos"):
            function = wasmtime.FuncType([real], [real])
            given[name] = wasmtime.Func(self.store, function, getattr(math, name))
        self._exports = wasmtime.Instance(self.store, module, [given[x.name] for x in module.imports]).exports(
            self.store
        )
        self._memory = memory

    @property
    def memory(self) -> np.ndarray:
        """The memory as it is now, as doubles."""
        start = ctypes.addressof(self._memory.data_ptr(self.store).contents)
        size = self._memory.data_len(self.store) // 8
        return np.ctypeslib.as_array((ctypes.c_double * size).from_address(start))

    def call(self, name: str, *arguments: int) -> int | None:
        return self._exports[name](self.store, *arguments)

    def write(self, content: bytes, address: int) -> None:
        self._memory.write(self.store, content, address)

    def arrays_at(self, places: dict[str, tuple[int, int]]) -> dict[str, np.ndarray]:
        memory = self.memory
        return {name: memory[address // 8 : address // 8 + count] for name, (address, count) in places.items()}


class Machine(Instance):
    """A robot's step: arrays by name, `step(rule)` and `view()`."""

    def __init__(self, robot, module: StepModule) -> None:
        super().__init__(module.code, module.pages, module.stack)
        self.robot, self.module = robot, module
        self.arrays = self.arrays_at(module.arrays)
        self.put(gravity=robot.gravity)

    def put(self, **values) -> None:
        for name, value in values.items():
            self.arrays[name][:] = np.reshape(value, -1)

    def settle(self, rule: str, h: float, kp=0.0, kd=0.0) -> None:
        table = StepSettings.of(self.robot, RULES[rule], h, kp, kd).table
        columns = table[1:].reshape(-1, self.robot.spanning.nv)[:, self.robot.kept()[1]]
        self.put(settings=np.concatenate([table[:1], columns.reshape(-1)]))

    def step(self, rule: str, count: int = 1) -> tuple[np.ndarray, np.ndarray]:
        for _ in range(count):
            self.step_within_limits(rule, lambda: None)
            self.put(q=self.arrays["q_new"], v=self.arrays["v_new"])
        return self.arrays["q"].copy(), self.arrays["v"].copy()

    def step_within_limits(self, rule: str, contact: Callable[[], None]) -> None:
        """Step, add contact, and repeat both with forces at their limits while mean forces are beyond them."""
        control = self.arrays["control"].copy()
        for again in range(REPEATS, -1, -1):
            self.call(rule, self.module.base)
            contact()
            if not again or not RULES[rule].implicit or not self.saturate():
                break
        self.put(control=control)

    def saturate(self) -> bool:
        """Set the controls of forces beyond their limits; return whether there are any."""
        arrays = self.arrays
        h, table = arrays["settings"][0], arrays["settings"][1:].reshape(COLUMNS, -1)
        s = Settings(h, *table)
        changes = arrays["v_new"] - arrays["v"]
        mean = np.array(
            [mean_force(s, *each, arrays["force"], k) for k, each in enumerate(zip(arrays["v"], changes, strict=True))]
        )
        beyond = np.abs(mean) > s.effort_limit
        arrays["control"][beyond] = np.copysign(SATURATED, mean[beyond])
        return bool(beyond.any())

    def view(self) -> tuple[np.ndarray, np.ndarray]:
        self.call("view", self.module.base)
        return self.arrays["poses"].reshape(-1, 4, 4), self.arrays["energy"]


class Kernel(Instance):
    """A kernel with its arrays by name."""

    def __init__(self, module: KernelModule) -> None:
        super().__init__(module.code, module.pages, module.stack)
        self.write(module.image, module.base)
        self.kernel = module

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name; the memory may have grown since they were asked for last."""
        return self.arrays_at(self.kernel.arrays)

    def run(self, **given: np.ndarray) -> dict[str, np.ndarray]:
        """Call the kernel with these inputs; return all arrays."""
        for name, values in given.items():
            self.arrays[name][:] = values
        assert self.call("call", self.kernel.base, self.kernel.heap) == FINE
        return self.arrays


class Stage(Kernel):
    """A world's contact, limits and friction behind the free step of a machine."""

    def __init__(self, module: ContactModule) -> None:
        super().__init__(module.kernel)
        self.module = module

    def settle(self, world: World, rule: str, h: float, kp=0.0, kd=0.0) -> None:
        arrays, self.rule = self.arrays, rule
        arrays["settings"][:] = StepSettings.of(world.robot, RULES[rule], h, kp, kd).table
        arrays["scheme"][0] = self.module.share[rule]

    def _solved(self) -> dict[str, np.ndarray]:
        """The arrays behind a call, once there is room for all contacts."""
        module = self.module
        while True:
            found, room = self.run(), self.memory.view(np.int64)[module.capacity // 8 :][:1]
            if not found["solver_info"][5] or room[0] >= module.most_contacts:
                return found
            room[0] = min(room[0] + found["solver_info"][5], module.most_contacts)

    def step(self, machine: Machine) -> dict[str, np.ndarray]:
        """Step the machine, and turn that into a step with contact; return the arrays."""
        machine.step_within_limits(self.rule, lambda: self._add_contact(machine))
        found = self.arrays
        found["before"][:] = found["after"]
        machine.put(q=found["q_new"], v=found["v_new"])
        return found

    def _add_contact(self, machine: Machine) -> None:
        given, arrays = machine.arrays, self.arrays
        for name in ("q", "v", "force", "external"):
            arrays[name][:] = given[name]
        for name in ("q", "v"):
            arrays[f"{name}_free"][:] = given[f"{name}_new"]
        found = self._solved()
        machine.put(q_new=found["q_new"], v_new=found["v_new"])
