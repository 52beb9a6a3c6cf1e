"""Cluster membership: this node's registration, and its view of the other nodes."""
