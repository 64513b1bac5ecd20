"""Recordings made worse on purpose: fewer frames, parts of the state, noise, short clips; and with
dimensions that were computed from others.

Each function returns new demonstrations without actions, whose metadata say what was done. With
them a user can try how robust a task is before recording it.
"""

import math
import numbers
import operator
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ilfo.common.parsing import separate
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.statements import CLIP_STATES, CLIPS, EVERY, NAMES, OBSERVED, SECONDS, is_count
from ilfo.data.trajectory import Trajectory

NOISE, DERIVED, SHORTEST = "noise", "derived", "clip_shortest"
"""Entries of the metadata: the share of noise, dimensions of the state that were computed, and how
few states a clip may have where clips are of unequal length."""


def thin(demonstrations: Demonstrations, every: int) -> Demonstrations:
    """Every `every`-th state of each trajectory, beginning with the first.

    The end of a terminated episode may lie up to `every` - 1 steps after its last state.
    """
    if not is_count(every) or every < 1:
        raise ValueError(f"every is {every!r}, but must be a whole number of steps, at least 1")

    def thinned(trajectory: Trajectory) -> Trajectory:
        states = trajectory.states[::every]
        if len(states) < 2 and not demonstrations.clips:
            raise ValueError(
                f"every={every} leaves one of its {len(trajectory.states)} states, but two are "
                "needed; use a smaller number, or longer recordings"
            )
        return Trajectory(states, trajectory.terminal)

    if demonstrations.clips and every > 1 and demonstrations.lengths.max() < every:
        raise ValueError(
            f"every={every} leaves one state of each clip, so no step to learn from; use a smaller "
            "number, or longer recordings"
        )
    metadata = demonstrations.metadata
    added = {
        entry: -(-metadata[entry] // every)
        for entry in (CLIP_STATES, SHORTEST)
        if is_count(metadata.get(entry))
    }
    if demonstrations.seconds is not None:
        added[SECONDS] = demonstrations.seconds * every
    if EVERY in metadata or SECONDS not in added:  # else the control step is not known here
        added[EVERY] = demonstrations.every * every
    return _changed(demonstrations, thinned, added)


def select(demonstrations: Demonstrations, dimensions: Sequence[int | str]) -> Demonstrations:
    """Some dimensions of the states, in the order given: by number, by name, or by the name of a
    part, such as `achieved_goal` for `achieved_goal.0` and `achieved_goal.1`."""
    given = [dimensions] if isinstance(dimensions, str) else dimensions
    kept = [number for each in given for number in _numbers(demonstrations.names, each)]
    wrong = [index for index in kept if not 0 <= index < demonstrations.dim]
    if not kept or wrong or len(set(kept)) < len(kept):
        raise ValueError(
            f"cannot select dimensions {kept} of states with {demonstrations.dim}: expected "
            f"different numbers from 0 to {demonstrations.dim - 1}"
        )
    before, names = demonstrations.observed or range(demonstrations.dim), demonstrations.names
    added: dict = {OBSERVED: [before[index] for index in kept]}
    if names is not None:
        added[NAMES] = [names[index] for index in kept]
    return _changed(
        demonstrations,
        lambda trajectory: Trajectory(trajectory.states[:, kept], trajectory.terminal),
        added,
    )


def _numbers(names: Sequence[str] | None, given: int | str) -> list[int]:
    if not isinstance(given, str):
        return [operator.index(given)]
    known = list(names or ())
    return [number for name in separate([given], known) for number in _named(known, name)]


def _named(known: list[str], given: str) -> list[int]:
    found = [
        number for number, name in enumerate(known) if name == given or name.startswith(f"{given}.")
    ]
    if found:
        return found
    if given.lstrip("-").isdecimal():
        return [int(given)]
    raise ValueError(
        f"there is no dimension {given!r}; give numbers"
        + (f", or names: {', '.join(known)}" if known else ": these recordings name none")
    )


def noisy(demonstrations: Demonstrations, share: float, seed: int = 0) -> Demonstrations:
    """Gaussian noise on every number, `share` times the standard deviation of its dimension over
    all demonstrated states."""
    if not isinstance(share, numbers.Real) or not 0 < share < math.inf:
        raise ValueError(f"share is {share!r}, but must be a number above 0; 0.2 for 20 %")
    _check_seed(seed)
    scale = share * np.concatenate([trajectory.states for trajectory in demonstrations]).std(0)

    def shaken(trajectory: Trajectory, generator: np.random.Generator) -> Trajectory:
        noise = generator.standard_normal(trajectory.states.shape, np.float32)
        return Trajectory(trajectory.states + scale * noise, trajectory.terminal)

    before = float(demonstrations.metadata.get(NOISE, 0.0))
    added = {NOISE: float(np.hypot(before, share))}
    generator = np.random.default_rng(seed)
    return _changed(demonstrations, lambda each: shaken(each, generator), added)


def clips(
    demonstrations: Demonstrations,
    states: int,
    count: int,
    seed: int = 0,
    shortest: int | None = None,
) -> Demonstrations:
    """`count` clips of `states` neighbouring states that begin anywhere, drawn uniformly from the
    trajectories that are long enough. With `shortest`, they have from that many to `states` states.

    No clip is terminal: how long its episode had lasted before is not in it.
    """
    if not (is_count(states) and is_count(count)) or states < 2 or count < 1:
        raise ValueError(
            f"clips of {states} states, {count} of them: expected at least two states and one clip"
        )
    if shortest is not None and not (is_count(shortest) and 1 <= shortest <= states):
        raise ValueError(f"shortest is {shortest!r}, but must be a whole number from 1 to {states}")
    _check_seed(seed)
    long_enough = [each for each in demonstrations if len(each.states) >= states]
    if not long_enough:
        raise ValueError(
            f"no trajectory has {states} states; the longest has {demonstrations.lengths.max() + 1}"
        )
    generator = np.random.default_rng(seed)
    places = np.array([len(each.states) - states + 1 for each in long_enough])
    drawn = generator.choice(len(places), size=count, p=places / places.sum())

    def clip(number: int) -> Trajectory:
        whole = long_enough[number]
        first = int(generator.integers(places[number]))
        length = states if shortest is None else int(generator.integers(shortest, states + 1))
        return Trajectory(whole.states[first : first + length], terminal=False)

    made = [clip(number) for number in drawn]
    added = {CLIPS: True, CLIP_STATES: states}
    added |= {} if shortest is None else {SHORTEST: shortest}
    return _of(demonstrations, made, added, without=(SHORTEST,))


def _check_seed(seed: int) -> None:
    if not is_count(seed) or seed < 0:
        raise ValueError(f"seed is {seed!r}, but must be a whole number from 0 on")


def moving(demonstrations: Demonstrations) -> Demonstrations:
    """Without the clips of one state."""
    if demonstrations.lengths.min() > 0:
        return demonstrations
    kept = [trajectory for trajectory in demonstrations if len(trajectory.states) > 1]
    if not kept:
        raise ValueError("all recordings are clips of one state; a velocity needs two")
    return _of(demonstrations, kept, {})


def with_dimensions(
    demonstrations: Demonstrations,
    numbers: Sequence[int],
    compute: Callable[[np.ndarray], np.ndarray],
    state_dim: int,
) -> Demonstrations:
    """Recordings of a part of the state, with further dimensions of it in the order of the state.
    `compute` makes one column for each of their numbers from the states of a trajectory."""
    held = [*(demonstrations.observed or range(demonstrations.dim)), *numbers]
    order = np.argsort(held)

    def joined(trajectory: Trajectory) -> Trajectory:
        rows = np.concatenate([trajectory.states, compute(trajectory.states)], axis=1)
        return Trajectory(rows[:, order].astype(trajectory.states.dtype), trajectory.terminal)

    made = _changed(demonstrations, joined, {DERIVED: sorted(numbers)}, without=(OBSERVED, NAMES))
    return made if len(held) == state_dim else made.holding(sorted(held))


def _changed(
    demonstrations: Demonstrations,
    change: Callable[[Trajectory], Trajectory],
    added: dict,
    without: Sequence[str] = (),
) -> Demonstrations:
    def each() -> Iterator[Trajectory]:
        for index, trajectory in enumerate(demonstrations):
            try:
                yield change(trajectory)
            except ValueError as error:
                raise ValueError(f"trajectory {index}: {error}") from error

    return _of(demonstrations, list(each()), added, without)


def _of(
    demonstrations: Demonstrations,
    trajectories: Sequence[Trajectory],
    added: dict,
    without: Sequence[str] = (),
) -> Demonstrations:
    metadata = demonstrations.states_only().metadata
    metadata = {name: value for name, value in metadata.items() if name not in without}
    if "rebuild" in metadata:
        metadata["altered_from"] = metadata.pop("rebuild")
    return Demonstrations.from_arrays(
        [trajectory.states for trajectory in trajectories],
        terminal=[trajectory.terminal for trajectory in trajectories],
        metadata=metadata | added,
    )
