"""Sweeps: very many rollouts with random model parameters, starts and policy parameters; see `treesim.sweep`."""

from .cluster import local_cluster
from .distributions import Choice, Distribution, LogUniform, Normal, Uniform, around, scale
from .estimate import Estimate
from .multivariate_normal import MultivariateNormal, maxwell_boltzmann
from .study import Failure, Study, open_study

__all__ = [
    "Choice",
    "Distribution",
    "Estimate",
    "Failure",
    "LogUniform",
    "MultivariateNormal",
    "Normal",
    "Study",
    "Uniform",
    "around",
    "local_cluster",
    "maxwell_boltzmann",
    "open_study",
    "scale",
]
