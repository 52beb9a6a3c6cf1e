"""Replication decisions: the in-sync set, the high watermark, where two logs diverge."""
