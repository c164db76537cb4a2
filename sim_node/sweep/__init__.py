"""Sweeps: many cases of a world, with varied numbers, on one machine or many."""
