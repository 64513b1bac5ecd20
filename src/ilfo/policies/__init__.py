"""Policies: a distribution over actions for every state.

`MLPPolicy` holds the hyper-parameters of a policy network; its `init` builds a `CategoricalMLP` for
discrete actions, a `MultiCategoricalMLP` for vectors of them and, for Box actions, a `GaussianMLP`
or a `StateNoiseMLP`, whose standard deviation depends on the state. `SquashedMLP` is the policy of
SAC. `Cloning` fits a policy to pairs of states and actions by maximum likelihood. On the host,
`HostPolicy` computes these classes in NumPy, and policies of your own with their own code,
compiled.
"""

from ilfo.policies.base import (
    AbstractDistribution,
    AbstractPolicy,
    Categorical,
    Gaussian,
    MultiCategorical,
)
from ilfo.policies.cloning import Cloning
from ilfo.policies.host import HostPolicies, HostPolicy
from ilfo.policies.latent import LatentPolicy
from ilfo.policies.mlp import (
    CategoricalMLP,
    GaussianMLP,
    MLPPolicy,
    MultiCategoricalMLP,
    StateNoiseMLP,
)
from ilfo.policies.squashed import SquashedGaussian, SquashedMLP

__all__ = [
    "AbstractDistribution",
    "AbstractPolicy",
    "Categorical",
    "CategoricalMLP",
    "Cloning",
    "Gaussian",
    "GaussianMLP",
    "HostPolicies",
    "HostPolicy",
    "LatentPolicy",
    "MLPPolicy",
    "MultiCategorical",
    "MultiCategoricalMLP",
    "SquashedGaussian",
    "SquashedMLP",
    "StateNoiseMLP",
]
