"""Knows what clients were told, and says when the cluster does not keep to it."""
