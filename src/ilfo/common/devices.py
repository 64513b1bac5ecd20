"""The devices of JAX, or one line that says why there are none."""

import jax


class MissingDeviceError(ValueError):
    """The platform that was asked for is not there."""


def devices() -> list[jax.Device]:
    """All devices of the platform in use."""
    wanted = jax.config.jax_platforms  # type: ignore[attr-defined]
    try:
        return jax.devices()
    except (RuntimeError, AssertionError) as error:  # JAX has raised either
        if not wanted:
            raise
        raise MissingDeviceError(
            f"JAX_PLATFORMS is {wanted!r}, but JAX finds no such device here; use the processor "
            "(JAX_PLATFORMS=cpu), or install JAX for your device, such as jax[cuda13], and its "
            "driver"
        ) from error
