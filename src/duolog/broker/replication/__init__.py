"""Copies of partitions: asked for by followers, served by leaders, counted in in-sync sets."""
