"""Other formats of worlds, read and written: x_xy, MJCF, URDF, OpenPLX. YAML is in `world/readers/`."""
