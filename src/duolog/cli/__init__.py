"""The `duolog` command: `duolog <noun> <verb>`, data on stdout, messages on stderr."""
