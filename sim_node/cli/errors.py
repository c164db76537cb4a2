"""Mistakes of the person at the keyboard."""


class UsageError(Exception):
    """A user's mistake: printed as one line, exit code 2."""
