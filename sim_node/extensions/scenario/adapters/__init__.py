"""Adapters: other scenario languages drive a run, each in a process and an environment of its own."""
