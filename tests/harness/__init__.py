"""Starts real nodes, and looks at them from outside: processes, sockets, files, metrics."""
