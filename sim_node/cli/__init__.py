"""The `sim_node` command, one file per subcommand."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.cli.arguments import UsageError as UsageError
    from sim_node.cli.commands import Command as Command
    from sim_node.cli.commands import command as command
