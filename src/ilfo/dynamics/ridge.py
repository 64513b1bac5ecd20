"""Ridge regression that takes in rows a portion at a time, at a cost that never grows.

    Σ = ridge·I + Σᵢ φᵢφᵢᵀ = RᵀR        Ŵ = Σ⁻¹ Σᵢ φᵢyᵢᵀ = R⁻¹Z

k new rows enter by a QR decomposition of (R Z) stacked on (Φ Y): O((D + k) D²), whatever came
before. The root R has the square root of Σ's condition number, which float32 can carry; Σ itself
loses the ridge beside some ten thousand rows. Shapes: D features, S outputs.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Ridge(eqx.Module):
    root: Float[Array, "D D"]
    moments: Float[Array, "D S"]
    ridge: Float[Array, ""]

    @staticmethod
    def empty(features: int, outputs: int, ridge: float) -> "Ridge":
        return Ridge(
            math.sqrt(ridge) * jnp.eye(features),
            jnp.zeros((features, outputs)),
            jnp.asarray(ridge, jnp.float32),
        )

    def update(self, features: Float[Array, "k D"], targets: Float[Array, "k S"]) -> "Ridge":
        dim = self.root.shape[0]
        before = jnp.concatenate([self.root, self.moments], 1)
        rows = jnp.concatenate([before, jnp.concatenate([features, targets], 1)])
        upper = jnp.linalg.qr(rows, mode="r")[:dim]
        return Ridge(upper[:, :dim], upper[:, dim:], self.ridge)

    @property
    def weights(self) -> Float[Array, "D S"]:
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
