"""treesim's dynamics and time steps as functions of JAX, with `jax.jit`, `jax.grad`, `jax.vmap` and `jax.jacrev`."""

from .functions import forward_dynamics, frame_pose, inverse_dynamics, step, wrap

__all__ = ["forward_dynamics", "frame_pose", "inverse_dynamics", "step", "wrap"]
