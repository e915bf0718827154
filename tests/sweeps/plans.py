"""Plans of sweeps without measures, for tests."""

from treesim.simulation.options import StepOptions
from treesim.sweeps.plan import plan_of


def made_plan(robot, vary=None, kp=0.0, kd=0.0, parameters=None, **counts):
    """The plan of a sweep from the neutral configuration at rest; counts: samples, steps, seed."""
    return plan_of(
        robot, q0=None, v0=None, policy=None, policy_parameters=parameters, options=StepOptions(dt=1e-2, kp=kp, kd=kd),
        f_ext=None, vary=vary or {}, measure=None, keep="summary", every=1, **counts,
    )  # fmt: skip
