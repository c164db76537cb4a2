"""Earth gravity with oblateness."""

from __future__ import annotations

from typing import Any

from sim_node.extensions.elodin.jax_setup import jnp


class J2:
    """Gravity of a point mass and the second zonal harmonic (Vallado 2013, section 8.6).

    Attributes:
        r_ref: Equatorial radius of the Earth, m.
        mu_earth: Gravitational parameter, m^3/s^2.
        J2: Coefficient of the second zonal harmonic.
    """

    r_ref = 6.378e6
    mu_earth = 3.986004418e14
    J2 = 1.08262668e-3

    def compute_field(self, x: Any, y: Any, z: Any, mass: Any) -> Any:
        """Return the force of gravity on a mass.

        Args:
            x: Position from the centre of the Earth along the first equatorial axis, m.
            y: Position along the second equatorial axis, m.
            z: Position towards the north pole, m.
            mass: The mass, kg.

        Returns:
            The force (3,), N.
        """
        r = jnp.sqrt(x**2 + y**2 + z**2)
        oblate = 1.5 * self.J2 * (self.r_ref / r) ** 2
        level = 5.0 * (z / r) ** 2
        by_axis = [part * (1.0 + oblate * (axis - level)) for part, axis in ((x, 1.0), (y, 1.0), (z, 3.0))]
        return -self.mu_earth * mass / r**3 * jnp.stack(by_axis)
