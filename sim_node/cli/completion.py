"""Write a script that completes commands, options, worlds and files in a shell."""

from __future__ import annotations

import argparse

from sim_node.cli.commands import COMMANDS, command
from sim_node.cli.parser import LinesFormatter, StrictParser
from sim_node.world.locate import shipped_worlds

# Where each shell looks for the script
_INSTALL = """\
bash: sim_node completion bash > ~/.local/share/bash-completion/completions/sim_node
zsh:  sim_node completion zsh > DIR/_sim_node, for a DIR of $fpath
fish: sim_node completion fish > ~/.config/fish/completions/sim_node.fish
tcsh: sim_node completion tcsh > ~/.sim_node.completion, and source it in ~/.tcshrc"""
_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f", "fish": "(__fish_complete_path)"}
_FOLDERS = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/", "tcsh": "d", "fish": "(__fish_complete_directories)"}
_WORLDS = {"bash": "_sim_node_worlds", "zsh": "_sim_node_worlds", "tcsh": "f", "fish": "(_sim_node_worlds)"}
# Completion of positional arguments and options, by their placeholders in the help text
_BY_PLACEHOLDER = {"WORLD": _WORLDS, "FILE": _FILES, "BAG": _FILES, "OTHER": _FILES, "DIR": _FOLDERS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare SHELL."""
    parser.add_argument("shell", metavar="SHELL", choices=tuple(_FILES), help="bash, zsh, fish or tcsh")
    parser.formatter_class = LinesFormatter
    parser.epilog = _INSTALL


@command("completion", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    print(shtab.complete(_all_commands(), arguments.shell, preamble=_preamble()))
    return 0


def _all_commands() -> StrictParser:
    """Return the parser of all subcommands, with the completions of their arguments."""
    parser = StrictParser(prog="sim_node")
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    subparsers = parser.add_subparsers(metavar="COMMAND")
    for each in COMMANDS.values():
        own = subparsers.add_parser(each.name, help=each.summary.replace("%", "%%"))
        each.add_arguments(own)
        for action in own._actions:
            if (stands_for := _BY_PLACEHOLDER.get(str(action.metavar))) is not None:
                action.complete = stands_for  # type: ignore[attr-defined]  # where shtab looks
    return parser


def _preamble() -> dict[str, str]:
    """Return the shell function that completes worlds: names of shipped ones, and files."""
    names = " ".join(shipped_worlds())
    return {
        "bash": f'_sim_node_worlds() {{\n  compgen -W "{names}" -- "$1"\n  compgen -f -- "$1"\n}}',
        "zsh": f"_sim_node_worlds() {{\n  compadd -- {names}\n  _files\n}}",
        "fish": f"function _sim_node_worlds\n  string split ' ' '{names}'\n  __fish_complete_path\nend",
    }
