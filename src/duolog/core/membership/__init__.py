"""Liveness of this node: its lease and its load. Pure."""
