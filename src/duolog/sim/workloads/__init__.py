"""Clients that put load on a simulated cluster and report every answer to the oracles."""
