"""`treesim view`: a robot moving live in a viewer, at the pace of real time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ArgumentError, NonFiniteError
from . import common
from .common import BaseOption, JsonOption, MimicOption, RobotArgument, guarded
from .page import HtmlOption, write_page
from .setup import (
    BACKEND,
    DT,
    INTEGRATOR,
    SOLVER,
    BackendOption,
    ContactSolverOption,
    ControllerOption,
    DtOption,
    FrictionOption,
    GravityOption,
    GroundOption,
    IntegratorOption,
    KdOption,
    KpOption,
    PushAtOption,
    PushForOption,
    PushOption,
    Q0Option,
    SeedOption,
    SubstepsOption,
    V0Option,
    checked_steps,
    set_up,
)

if TYPE_CHECKING:
    import numpy as np

    from ..simulation import Simulation

FPS = 30.0
MOST_A_FRAME = 10**6  # steps: more take minutes for each picture


@guarded
def view(
    robot: RobotArgument,
    base: BaseOption = "fixed",
    mimic: MimicOption = None,
    dt: DtOption = DT,
    backend: BackendOption = BACKEND,
    integrator: IntegratorOption = INTEGRATOR,
    substeps: SubstepsOption = None,
    seed: SeedOption = None,
    q0: Q0Option = None,
    v0: V0Option = None,
    controller: ControllerOption = "none",
    kp: KpOption = None,
    kd: KdOption = None,
    gravity: GravityOption = None,
    ground: GroundOption = False,
    friction: FrictionOption = None,
    contact_solver: ContactSolverOption = SOLVER,
    push: PushOption = None,
    push_at: PushAtOption = None,
    push_for: PushForOption = None,
    duration: Annotated[
        float | None, typer.Option(help="End after so many seconds; without it, Ctrl-C ends.", show_default=False)
    ] = None,
    speed: Annotated[float, typer.Option(help="Times real time.")] = 1.0,
    viewer: Annotated[str, typer.Option(help="Viewer; `treesim plugins` lists them.")] = "meshcat",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    html: HtmlOption = None,
    json: JsonOption = False,
) -> None:
    """Open a viewer and play ROBOT's motion live until Ctrl-C."""
    from ..viewers.base import GroundViewer

    if html is not None:
        write_page(
            html, robot, viewer, json, base=base, mimic=mimic, q0=q0, seed=seed, controller=controller, gravity=gravity,
            dt=dt, backend=backend, integrator=integrator, kp=kp, kd=kd,
            left_out={"--ground": ground, "--push": push, "--v0": v0, "--substeps": substeps, "--duration": duration},
        )  # fmt: skip
        return
    if duration is not None:
        checked_steps(duration, dt)
    common.checked_positive("--speed", speed)
    steps_a_frame = speed / FPS / common.checked_seconds("--dt", dt)
    if steps_a_frame > MOST_A_FRAME:
        raise ArgumentError(
            f"--dt {dt:g} would be {steps_a_frame:.3g} steps for each picture of 1/30 s: "
            f"take one of {speed / FPS / MOST_A_FRAME:.1e} s or more"
        )
    window = common.get_viewer(viewer)
    tree, q, v, simulation = set_up(
        robot,
        base=base,
        mimic=mimic,
        gravity=gravity,
        seed=seed,
        q0=q0,
        v0=v0,
        dt=dt,
        backend=backend,
        integrator=integrator,
        substeps=substeps,
        controller=controller,
        kp=kp,
        kd=kd,
        ground=ground,
        friction=friction,
        contact_solver=contact_solver,
        push=push,
        push_at=push_at,
        push_for=push_for,
    )
    try:
        window.show(tree, q)
        if ground and isinstance(window, GroundViewer):
            window.show_ground(simulation.world.ground)
        url = getattr(window, "url", None)
        _announce(url, no_browser, json)
        shown = _play(simulation, window, q, v, duration, speed)
    finally:
        window.close()
    if json:
        common.print_json({"robot": tree.name, "url": url, "simulated_s": shown})


def _announce(url: str | None, no_browser: bool, json: bool) -> None:
    console = common.messages() if json else common.output()
    console.print(f"watch at {url}  (Ctrl-C ends)" if url else "running (Ctrl-C ends)", soft_wrap=True)
    if url and not no_browser:
        import webbrowser

        webbrowser.open(url)


def _play(
    simulation: Simulation, window: Any, q: np.ndarray, v: np.ndarray, duration: float | None, speed: float
) -> float:
    """Play and show until the duration [s] is over, or Ctrl-C; return the seconds played.

    Raises NonFiniteError when the state does.
    """
    from ..player import Player

    player = Player(simulation, q, v, lambda frame: window.update(frame.q), fps=FPS, speed=speed)
    try:
        player.run(duration)
    except KeyboardInterrupt:  # the way to end; what was shown needs no saving
        pass
    except NonFiniteError as error:
        raise NonFiniteError(f"after {player.t:.3g} s: {error}") from error
    return player.t
