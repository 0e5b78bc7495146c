"""The command line: one module a command, a thin main."""
