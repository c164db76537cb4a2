"""Autopilots over MAVLink: codec, links, and telemetry, commands and missions between NED/FRD and ENU/FLU."""
