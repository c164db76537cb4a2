"""Vehicles with autopilots."""
