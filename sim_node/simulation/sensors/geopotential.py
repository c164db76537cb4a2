"""Constants of geopotential height, which is what the layers of the atmosphere are measured in."""

EARTH_RADIUS = 6356766.0  # m: U.S. Standard Atmosphere, 1976, section 1.2.4
# Below this altitude (m) the air is taken not to become denser.
LOWEST = -100_000.0
