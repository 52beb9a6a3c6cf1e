"""Adapters to the real outside world, behind the ports: disk, sockets, HTTP, clock, SQLite,
etcd."""
