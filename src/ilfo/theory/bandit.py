"""The bandit to which imitation from observations reduces (paper, appendix 'Proof of Theorem').

There is one initial state, in which action i leads to N(μ_i, 1). Demonstrations without actions
reveal the best mean μ* and nothing else. What remains is a bandit with A Gaussian arms whose best
mean is known. Instance i of A has μ_i = gap, and all other means are 0.

An algorithm is a function from what it knows to an arm. Repetitions are vmapped. The regret is
Σ_t (μ* − μ of the arm chosen at t), without the noise of rewards.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class Known(NamedTuple):
    """What an algorithm knows when it chooses an arm."""

    counts: Float[Array, " A"]
    means: Float[Array, " A"]
    best: Float[Array, ""]
    """μ*, known from the demonstrations."""
    rounds: Float[Array, ""]
    """T, the number of rounds."""
    given: Float[Array, ""]
    """A parameter fixed before the first round: ε, or the demonstrated arm."""
    uniform: Float[Array, ""]
    """A random number, uniform in [0, 1)."""
    noise: Float[Array, " A"]
    """Standard normal random numbers."""


CELLS = 32768
"""Largest total number of arms of the bandits that run at once."""

Algorithm = Callable[[Known], Int[Array, ""]]


def greedy(known: Known):
    """The arm with the largest mean so far."""
    return jnp.argmax(known.means)


def epsilon_greedy(known: Known):
    """A random arm with probability ε, else the greedy one."""
    # given that it is below ε, the number is uniform on [0, ε): it also selects the arm
    arm = _arm(known, known.uniform / jnp.maximum(known.given, 1e-9))
    return jnp.where(known.uniform < known.given, arm, greedy(known))


def repeated(known: Known):
    """Always the arm that was given."""
    return known.given.astype(jnp.int32)


def optimism(known: Known):
    """The largest upper bound: mean + √(4 ln⁺(T/(A n))/n), the minimax-optimal width (MOSS)."""
    return jnp.argmax(known.means + _width(known))


def matching(known: Known):
    """MobILE on this problem: the smallest |mean − μ*| minus the bonus."""
    return jnp.argmin(jnp.abs(known.means - known.best) - _width(known))


def thompson(known: Known):
    """The largest sample from the posterior."""
    return jnp.argmax(known.means + known.noise / jnp.sqrt(known.counts))


def uniform(known: Known):
    """A random arm."""
    return _arm(known, known.uniform)


def _arm(known: Known, share: Float[Array, ""]) -> Int[Array, ""]:
    arms = known.counts.shape[0]
    return jnp.minimum((share * arms).astype(jnp.int32), arms - 1)


def _width(known: Known) -> Float[Array, " A"]:
    often = known.rounds / (known.counts.shape[0] * known.counts)
    return jnp.sqrt(4 * jnp.maximum(jnp.log(often), 0) / known.counts)


@functools.partial(jax.jit, static_argnames=("algorithm", "repetitions", "tried"))
def regret(
    algorithm: Algorithm,
    means: Float[Array, "n A"],
    given: Float[Array, " n"],
    rounds: Int[Array, ""] | int,
    *,
    repetitions: int,
    key: Array,
    tried: bool = True,
) -> Float[Array, "repetitions n"]:
    """Regret of `algorithm` over T rounds on each of n problems, in independent repetitions.

    Every arm is pulled once at first, unless `tried` is False. Repetitions run in portions that fit
    into a processor's cache.
    """
    portion = min(max(CELLS // means.size, 1), repetitions)
    keys = jax.random.split(key, -(-repetitions // portion))
    regrets = jax.lax.map(
        lambda k: _portion(algorithm, means, given, rounds, portion, tried, k), keys
    )
    return regrets.reshape(-1, means.shape[0])[:repetitions]


def _portion(
    algorithm, means, given, rounds, repetitions, tried, key
) -> Float[Array, "repetitions n"]:
    """Arms are the first axis of all arrays, so that the processor can vectorise over lanes."""
    problems, arms = means.shape
    lanes = repetitions * problems
    mean = jnp.tile(means.T, repetitions)
    gaps = mean.max(0) - mean
    decide = jax.vmap(algorithm, in_axes=-1)
    needs_noise = algorithm is thompson
    constants = (
        mean.max(0),
        jnp.full(lanes, rounds, jnp.float32),
        jnp.tile(given, repetitions),
    )

    def step(index, carry):
        counts, sums, total = carry
        keys = jax.random.split(jax.random.fold_in(key, index), 3)
        known = Known(
            counts,
            sums / jnp.maximum(counts, 1),
            *constants,
            jax.random.uniform(keys[0], (lanes,)),
            jax.random.normal(keys[1], (arms, lanes)) if needs_noise else counts,
        )
        chosen = jax.nn.one_hot(decide(known), arms, axis=0)
        reward = (chosen * mean).sum(0) + jax.random.normal(keys[2], (lanes,))
        return counts + chosen, sums + reward * chosen, total + (chosen * gaps).sum(0)

    zeros = jnp.zeros((arms, lanes))
    begin = (zeros, zeros, jnp.zeros(lanes))
    if tried:
        first = mean + jax.random.normal(jax.random.fold_in(key, 0), (arms, lanes))
        begin = (zeros + 1, first, gaps.sum(0))
    _, _, total = jax.lax.fori_loop(arms if tried else 0, rounds, step, begin)
    return total.reshape(repetitions, problems)


def one_good_arm(arms: int, gap: float | Array, index: int = 0) -> Float[Array, " A"]:
    """The means of an instance: `gap` at `index`, else 0."""
    return gap * jax.nn.one_hot(index, arms)
