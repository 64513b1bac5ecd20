"""What options of several commands say of recordings."""

from collections.abc import Sequence

from ilfo.environments import observing
from ilfo.environments.factory import factory


def stated(
    env: str, horizon: int | None, every: int | None, rate: str | None, observe: Sequence[str]
) -> tuple[int | None, tuple[int, ...]]:
    """Control steps between recorded states, and the dimensions that they hold."""
    if rate is not None and every is not None:
        raise ValueError("--every and --rate say the same; give one of them")
    if rate is None and not observe:
        return every, ()
    environment = factory(env, horizon).make()
    if rate is not None:
        every = observing.steps_per_frame(rate, environment)
    return every, observing.dimensions(observe, environment)
