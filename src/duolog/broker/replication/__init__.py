"""Replication of partitions: followers fetch, leaders serve, in-sync sets track progress."""
