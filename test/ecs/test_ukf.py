"""Unscented Kalman filters, against sums by hand and, for a linear system, against the Kalman filter."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from sim_node.extensions.elodin import ukf

WEIGHTS = np.array([0.4, 0.1, 0.1])
POINTS = np.array([[1.0, 2.0], [2.0, 4.0], [5.0, 4.0]])


def test_the_transform_of_weighted_points() -> None:
    """Sums by hand: mean = sum w x, covariance = sum w (x - mean)(x - mean)^T."""
    mean, covariance = ukf.unscented_transform(POINTS, WEIGHTS, WEIGHTS)
    assert np.allclose(mean, [1.1, 1.6], atol=1e-15)
    assert np.allclose(covariance, [[1.606, 1.136], [1.136, 1.216]], atol=1e-15)
    between = ukf.cross_covar(np.array([1.0, 2.0]), np.array([2.0, 3.0]), POINTS, POINTS + 1.0, WEIGHTS)
    assert np.allclose(between, [[1.7, 1.0], [1.0, 0.8]], atol=1e-15)


def test_of_a_linear_system_it_is_the_kalman_filter() -> None:
    """Kalman 1960: x = F x, P = F P F^T; K = P H^T (H P H^T + R)^-1. Without noise of propagation they are equal."""
    transition = np.array([[1.0, 0.1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]])
    sensor = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0]])
    noise = np.diag([0.01, 0.04])
    x, covariance = np.array([-1.0, 1.0, -1.0, 1.0]), np.diag([0.02, 0.05, 0.02, 0.01])
    filter: Any = ukf.UKFState(x, covariance, np.zeros((4, 4)), noise, alpha=0.1, beta=2.0, kappa=-1.0)
    measured = np.random.default_rng(1).normal(size=(20, 2))
    for z in measured:
        filter.update(jnp.asarray(z), lambda x: transition @ x, lambda x, _: sensor @ x)
        x, covariance = transition @ x, transition @ covariance @ transition.T
        gain = covariance @ sensor.T @ np.linalg.inv(sensor @ covariance @ sensor.T + noise)
        x, covariance = x + gain @ (z - sensor @ x), covariance - gain @ sensor @ covariance
    assert np.allclose(filter.x_hat, x, atol=1e-9)
    assert np.allclose(filter.covar, covariance, atol=1e-9)
