"""Clients that put load on a simulated cluster, and tell the oracle what they were told."""
