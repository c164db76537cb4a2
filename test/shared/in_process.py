"""Commands run in the test's own process: a new Python for each would cost ten times what they do."""

from __future__ import annotations

from collections.abc import Sequence

from sim_node.cli.main import main


def exit_code(words: Sequence[str]) -> object:
    """Run a command. Return what its process would end with: argparse ends it itself."""
    try:
        return main(words)
    except SystemExit as refused:
        return refused.code
