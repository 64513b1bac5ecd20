"""Incremental ridge regression: the cost of an update does not grow with the data.

    Σ = ridge·I + Σᵢ φᵢφᵢᵀ = RᵀR        Ŵ = Σ⁻¹ Σᵢ φᵢyᵢᵀ = R⁻¹Z

k new rows are added by a QR decomposition of (R Z) stacked on (Φ Y), in O((D + k) D²). The
condition number of R is the square root of Σ's, which float32 can represent; in Σ itself the ridge
would be lost to rounding after some ten thousand rows. Shapes: D features, S outputs.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Ridge(eqx.Module):
    """The regression's state."""

    root: Float[Array, "D D"]
    moments: Float[Array, "D S"]
    ridge: Float[Array, ""]

    @staticmethod
    def empty(features: int, outputs: int, ridge: float) -> "Ridge":
        """Without any rows."""
        return Ridge(
            math.sqrt(ridge) * jnp.eye(features),
            jnp.zeros((features, outputs)),
            jnp.asarray(ridge, jnp.float32),
        )

    def update(self, features: Float[Array, "k D"], targets: Float[Array, "k S"]) -> "Ridge":
        """With k more rows."""
        dim = self.root.shape[0]
        before = jnp.concatenate([self.root, self.moments], 1)
        rows = jnp.concatenate([before, jnp.concatenate([features, targets], 1)])
        upper = jnp.linalg.qr(rows, mode="r")[:dim]
        return Ridge(upper[:, :dim], upper[:, dim:], self.ridge)

    @property
    def weights(self) -> Float[Array, "D S"]:
        """Ŵ."""
        return jax.scipy.linalg.solve_triangular(self.root, self.moments)

    @property
    def inverse_root(self) -> Float[Array, "D D"]:
        """R⁻¹: ‖φ‖ in Σ⁻¹ is the plain norm of φR⁻¹."""
        return jax.scipy.linalg.solve_triangular(self.root, jnp.eye(self.root.shape[0]))

    @property
    def information(self) -> Float[Array, ""]:
        """ln det Σ − ln det(ridge·I)."""
        diagonal = jnp.abs(jnp.diagonal(self.root))
        return (2 * jnp.log(diagonal) - jnp.log(self.ridge)).sum()
