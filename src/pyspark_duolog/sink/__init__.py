"""Writes data frames to topics, exactly once."""
