"""Constants of geopotential height, in which the layers of the atmosphere are defined."""

EARTH_RADIUS = 6356766.0  # m: U.S. Standard Atmosphere, 1976, section 1.2.4
# Altitude (m) below which the density of the air is assumed to be constant.
LOWEST = -100_000.0
