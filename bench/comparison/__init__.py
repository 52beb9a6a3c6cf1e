"""Duolog beside other servers: warmed up, with the same clients, in alternating rounds."""
