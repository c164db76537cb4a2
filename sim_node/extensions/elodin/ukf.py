"""Unscented Kalman filters (Julier and Uhlmann 1997), with the scaled sigma points of van der Merwe (2004)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_node.extensions.elodin.jax_setup import jax, jnp

# A function of a state (n,); a function of a state (n,) and the measurement (z,).
Propagate = Callable[[Any], Any]
Measure = Callable[[Any, Any], Any]


def unscented_transform(points: Any, mean_weights: Any, covar_weights: Any) -> tuple[Any, Any]:
    """Return the mean (n,) and the covariance (n, n) of weighted points.

    Args:
        points: Points (s, n).
        mean_weights: Weights (s,) of the mean.
        covar_weights: Weights (s,) of the covariance.

    Returns:
        The mean (n,) and the covariance (n, n).
    """
    mean = jnp.asarray(mean_weights) @ points
    return mean, cross_covar(mean, mean, points, points, covar_weights)


def cross_covar(x_hat: Any, z_hat: Any, points_x: Any, points_z: Any, covar_weights: Any) -> Any:
    """Return the cross-covariance of weighted points of states and of measurements.

    Args:
        x_hat: The mean state (n,).
        z_hat: The mean measurement (z,).
        points_x: Points (s, n) of states.
        points_z: Points (s, z) of measurements.
        covar_weights: Weights (s,) of the covariance.

    Returns:
        The cross-covariance (n, z).
    """
    return (jnp.asarray(covar_weights)[:, None] * (points_x - x_hat)).T @ (points_z - z_hat)


def predict(
    sigma_points: Any, prop_fn: Propagate, mean_weights: Any, covar_weights: Any, prop_covar: Any
) -> tuple[Any, Any, Any]:
    """Propagate sigma points.

    Args:
        sigma_points: Points (s, n).
        prop_fn: Returns the next state (n,) of a state (n,).
        mean_weights: Weights (s,) of the mean.
        covar_weights: Weights (s,) of the covariance.
        prop_covar: The covariance (n, n) that the propagation adds.

    Returns:
        The points (s, n), their mean (n,), and their covariance (n, n) plus that of the propagation.
    """
    points = jax.vmap(prop_fn)(jnp.asarray(sigma_points))
    mean, covar = unscented_transform(points, mean_weights, covar_weights)
    return points, mean, covar + prop_covar


def innovate(
    x_points: Any, z: Any, measure_fn: Measure, mean_weights: Any, covar_weights: Any, noise_covar: Any
) -> tuple[Any, Any, Any]:
    """Predict the measurements of sigma points.

    Args:
        x_points: Points (s, n) of states.
        z: The measurement (z,), the second argument of `measure_fn`.
        measure_fn: Returns the measurement (z,) that a state (n,) would give.
        mean_weights: Weights (s,) of the mean.
        covar_weights: Weights (s,) of the covariance.
        noise_covar: The covariance (z, z) of the measurement noise.

    Returns:
        The measurements (s, z), their mean (z,), and their covariance (z, z) plus that of the noise.
    """
    points = jax.vmap(lambda x: measure_fn(x, z))(jnp.asarray(x_points))
    mean, covar = unscented_transform(points, mean_weights, covar_weights)
    return points, mean, covar + noise_covar


class UKFState:
    """An unscented Kalman filter.

    Args:
        x_hat: The estimated state (n,).
        covar: Its covariance (n, n).
        prop_covar: The covariance (n, n) that a propagation adds.
        noise_covar: The covariance (z, z) of a measurement.
        alpha: Spread of the sigma points.
        beta: 2 is best for normal distributions.
        kappa: Often 3 - n.
    """

    def __init__(
        self, x_hat: Any, covar: Any, prop_covar: Any, noise_covar: Any, alpha: float, beta: float, kappa: float
    ) -> None:
        self.x_hat, self.covar = jnp.asarray(x_hat), jnp.asarray(covar)
        self.prop_covar, self.noise_covar = jnp.asarray(prop_covar), jnp.asarray(noise_covar)
        size = self.x_hat.shape[0]
        self._scale = alpha**2 * (size + kappa)
        rest = jnp.full(2 * size, 0.5 / self._scale)
        first = 1.0 - size / self._scale
        self._mean_weights = jnp.concatenate([jnp.array([first]), rest])
        self._covar_weights = jnp.concatenate([jnp.array([first + 1.0 - alpha**2 + beta]), rest])

    def update(self, z: Any, prop_fn: Propagate, measure_fn: Measure) -> None:
        """Propagate the state, and correct it with a measurement.

        Measurements are predicted from the propagated points, without the covariance that the propagation adds.

        Args:
            z: The measurement (z,).
            prop_fn: Returns the next state for a state.
            measure_fn: Returns the measurement that a state would give; its second argument is `z`.
        """
        z = jnp.asarray(z)
        offsets = jnp.linalg.cholesky(self._scale * self.covar).T
        points = jnp.concatenate([self.x_hat[None], self.x_hat + offsets, self.x_hat - offsets])
        weights = self._mean_weights, self._covar_weights
        points_x, x_hat, covar = predict(points, prop_fn, *weights, self.prop_covar)
        points_z, z_hat, z_covar = innovate(points_x, z, measure_fn, *weights, self.noise_covar)
        gain = jnp.linalg.solve(z_covar, cross_covar(x_hat, z_hat, points_x, points_z, self._covar_weights).T).T
        self.x_hat = x_hat + gain @ (z - z_hat)
        self.covar = covar - gain @ z_covar @ gain.T
