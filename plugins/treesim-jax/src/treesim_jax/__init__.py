"""treesim's dynamics, time steps and rollouts as functions of JAX, with `jit`, `grad`, `vmap` and `jacrev`."""

from .functions import forward_dynamics, frame_pose, inverse_dynamics, rollout, step, wrap

__all__ = ["forward_dynamics", "frame_pose", "inverse_dynamics", "rollout", "step", "wrap"]
