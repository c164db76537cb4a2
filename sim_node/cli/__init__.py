"""The `sim_node` command, one file per subcommand."""
