"""Data frames to topics, exactly once."""
