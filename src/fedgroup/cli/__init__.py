"""The command line: one module a command group. Heavy imports wait inside the commands that need them."""
