"""Imitation with actions against imitation from observations (paper, 'Exponential Gap').

In the bandit of `ilfo.theory.bandit` one demonstration with its action reveals the best arm:
behaviour cloning from it has no regret, for any number of actions A. Without actions the worst-case
regret over gaps grows like √A, even for optimism and with the best mean known. A share 1 − 1/A of
the arms is wrong, so for small A the regret grows faster than √A by that factor.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ilfo.common.tally import COMPILING, tallied
from ilfo.theory.bandit import Algorithm, matching, one_good_arm, optimism, regret, repeated
from ilfo.theory.slopes import normal_draws, slope_with_interval
from ilfo.theory.studies.base import Study

WITHOUT: dict[str, Algorithm] = {"optimism": optimism, "matching with bonus": matching}
GAPS = 2.0 ** np.arange(0, 3.25, 0.5)
"""Gaps as multiples of √(A/T), at most 1; the worst gap lies inside the grid."""


def demonstrate(expert: Float[Array, "n A"], key: Array) -> tuple[Array, Array]:
    """One step (state, action) of each of n experts, given their action probabilities in state 0,
    the only state with a choice."""
    action = jax.random.categorical(key, jnp.log(expert))
    return jnp.zeros_like(action), action


def clone(state: Int[Array, ""], action: Int[Array, ""], arms: int) -> Int[Array, " 1"]:
    """The policy of maximum likelihood for one demonstrated step: an action for each state."""
    return jnp.zeros((1, arms)).at[state, action].add(1).argmax(-1)


def cloning_regret(means, expert, rounds: int, record_key, play_key) -> Float[Array, " n"]:
    """Regret of clones of one demonstrated step, each on its own bandit."""
    policy = jax.vmap(clone, (0, 0, None))(*demonstrate(expert, record_key), means.shape[1])
    arm = policy[:, 0].astype(jnp.float32)
    return regret(repeated, means, arm, rounds, repetitions=1, key=play_key, tried=False)[0]


@dataclass(frozen=True)
class Actions(Study):
    """Imitation with actions needs one demonstration; without, regret grows like √A."""

    name = "actions"
    rounds: int = 4096
    """Number of rounds T."""
    repetitions: int = 2000
    """Number of independent repetitions per regret."""
    fewest: int = 8
    """Smallest number of actions A; the next are 2, 4, ... times that."""
    amounts: int = 4
    """Number of values of A."""

    def __post_init__(self):
        largest = self.fewest * 2 ** (self.amounts - 1)
        if min(self.fewest, self.amounts, self.repetitions) < 2 or self.rounds <= largest:
            raise ValueError(
                f"fewest is {self.fewest}, amounts is {self.amounts} and repetitions is "
                f"{self.repetitions}, but each must be at least 2; rounds is {self.rounds}, but "
                f"must be above the largest number of actions, {largest}"
            )

    def measure(self):
        counts = [self.fewest * 2**k for k in range(self.amounts)]
        keys = iter(jax.random.split(jax.random.key(self.seed), 3 * len(counts)))
        rows, slopes, rng = [], [], np.random.default_rng(self.seed)
        for arms in counts:
            rows.append(self._cloned(arms, next(keys)))
        for name, algorithm in WITHOUT.items():
            shown = tallied(f"numbers of arms, {name}", counts, first=COMPILING)
            regrets = [self._over_gaps(algorithm, arms, next(keys)) for arms in shown]
            mean, error = (np.stack(part) for part in zip(*regrets, strict=True))
            for arms, means, errors in zip(counts, mean, error, strict=True):
                worst = means.argmax()
                gap = self._gaps(arms)[worst]
                rows.append(self._row(name, arms, means[worst], errors[worst], gap))
            draws = normal_draws(mean, error, rng).max(-1)
            wrong = 1 - 1 / np.array(counts)
            for label, part in (("regret", 1.0), ("regret/(1 − 1/A)", wrong)):
                fitted = slope_with_interval(np.array(counts), mean.max(-1) / part, draws / part)
                slopes.append({"learner": name, "of": label, "theory": 0.5} | fitted._asdict())
        return {"regret": rows, "slopes": slopes}

    def _cloned(self, arms, key):
        """Behaviour cloning: the best arm is random, the expert takes it, and the gap is 1."""
        arm_key, record_key, play_key = jax.random.split(key, 3)
        best = jax.random.randint(arm_key, (self.repetitions,), 0, arms)
        means = jax.vmap(lambda index: one_good_arm(arms, 1.0, index))(best)
        expert = jax.nn.one_hot(best, arms)
        lost = cloning_regret(means, expert, self.rounds, record_key, play_key)
        error = lost.std() / np.sqrt(self.repetitions)
        return self._row("cloning one action", arms, lost.mean(), error, 1.0)

    def _gaps(self, arms):
        return np.minimum(GAPS * np.sqrt(arms / self.rounds), 1.0)

    def _over_gaps(self, algorithm, arms, key):
        gaps = jnp.asarray(self._gaps(arms))
        instances = jax.vmap(lambda gap: one_good_arm(arms, gap))(gaps)
        regrets = regret(
            algorithm,
            instances,
            jnp.zeros(len(GAPS)),
            self.rounds,
            repetitions=self.repetitions,
            key=key,
        )
        return np.mean(regrets, 0), np.std(regrets, 0) / np.sqrt(self.repetitions)

    def _row(self, name, arms, mean, error, gap):
        return {
            "learner": name,
            "A": arms,
            "regret": float(mean),
            "standard error": float(error),
            "worst gap": float(gap),
            "√(AT)/16": float(np.sqrt(arms * self.rounds) / 16),
        }

    def draw(self, figure, tables):
        axes = figure.subplots()
        for name in dict.fromkeys(row["learner"] for row in tables["regret"]):
            rows = [row for row in tables["regret"] if row["learner"] == name]
            axes.plot([r["A"] for r in rows], [r["regret"] for r in rows], "o-", label=name)
        axes.plot([r["A"] for r in rows], [r["√(AT)/16"] for r in rows], "k--", label="√(AT)/16")
        axes.set(xscale="log", xlabel="actions A", ylabel=f"regret in {self.rounds} rounds")
        axes.set_yscale("symlog", linthresh=1)
        axes.legend()
