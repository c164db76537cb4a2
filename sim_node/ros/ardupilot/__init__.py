"""Vehicles of a bridge under ArduPilot's DDS names."""
