"""What to try when a run does not learn: only settings that its method has."""

from collections.abc import Mapping
from typing import Any

LEARN_FASTER = {
    "imagined_streams": "more imagined trajectories (imagined_streams)",
    "planner.kl": "longer policy steps (planner.kl)",
    "planner.optimiser.learning_rate": "another step size (planner.optimiser.learning_rate)",
    "updates": "more updates per environment step (updates)",
    "latent.latents": "more latent actions (latent.latents)",
    "cloning.plan.passes": "longer fits of the policy (cloning.plan.passes)",
}
BETTER_MODEL = {
    "streams": "more data for the model (streams)",
    "dynamics.width": "wider networks (dynamics.width)",
    "dynamics.plan.passes": "longer fits (dynamics.plan.passes)",
    "weight": "more exploration (weight)",
}
PREDICT_MORE = {
    "dynamics.plan.passes": "longer fits (dynamics.plan.passes)",
    "dynamics.stochastic": "dynamics.stochastic=true if the environment is noisy",
}
STEADY_MODEL = {
    "dynamics.plan.passes": "longer fits (dynamics.plan.passes)",
    "dynamics.width": "wider networks (dynamics.width)",
}
SURER_STEPS = {
    "planner.kl": "a smaller planner.kl",
    "imagined_streams": "more imagined trajectories (imagined_streams)",
    "streams": "more streams",
}
BEYOND_NOISE = {
    "imagined_streams": "more imagined trajectories (imagined_streams)",
    "floor": "steps that heed no noise (floor=false)",
}
FREER_STEPS = {
    "inference.pull": "a weaker pull towards inferred actions (inference.pull)",
    "imagined_streams": "more imagined trajectories (imagined_streams)",
    "streams": "more streams",
}
EXPLORE_LONGER = {
    "planner.kl": "a smaller planner.kl",
    "planner.clip": "a smaller planner.clip",
    "learner.target_entropy": "a larger learner.target_entropy",
    "policy.log_std_min": "a larger policy.log_std_min",
}
SEE_MORE = {
    "inference.explore": "a longer exploration (inference.explore)",
    "explore": "a longer exploration (explore)",
    "streams": "more streams",
}
ACT_SOONER = {
    "inference.explore": "let the untrained policy act for fewer steps (inference.explore)",
    "explore": "let the untrained policy act in fewer iterations (explore)",
}
MORE_STEPS = "more environment steps (--total-timesteps)"


def has(settings: Mapping[str, Any], path: str) -> bool:
    """Whether there is such a setting, e.g. "planner.kl"; its value may be None."""
    *parents, name = path.split(".")
    for parent in parents:
        settings = settings.get(parent) or {}
        if not isinstance(settings, Mapping):
            return False
    return name in settings


def remedies(settings: Mapping[str, Any], known: Mapping[str, str], most: int = 2) -> str:
    """The first of those that these settings have, as words; more steps if they have none."""
    found = [words for path, words in known.items() if has(settings, path)]
    return " or ".join(found[:most]) or MORE_STEPS
