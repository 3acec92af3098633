"""The subcommands: one function each, given the parsed arguments, returning the exit code."""
