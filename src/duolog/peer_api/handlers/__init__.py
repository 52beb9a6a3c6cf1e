"""Handlers of the requests between nodes, one module per kind."""
