"""Oracles: remember what clients were told, and report when the cluster breaks a promise."""
