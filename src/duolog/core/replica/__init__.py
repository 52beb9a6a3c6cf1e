"""Replication, decided: who is in sync, what is committed, where two logs part."""
