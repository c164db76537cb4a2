"""Paired benchmarks; `make bench` runs them all."""
