"""Sweeps: very many rollouts with random model parameters, starts and policy parameters; see `treesim.sweep`."""

from .cluster import local_cluster
from .distributions import Choice, Distribution, LogUniform, Normal, Uniform, around, scale
from .estimate import Estimate
from .study import Failure, Study, open_study

__all__ = [
    "Choice",
    "Distribution",
    "Estimate",
    "Failure",
    "LogUniform",
    "Normal",
    "Study",
    "Uniform",
    "around",
    "local_cluster",
    "open_study",
    "scale",
]
