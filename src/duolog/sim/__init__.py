"""Whole clusters in one process, on a virtual clock, network, disk and metadata store.

The product's own code runs; only the implementations of `ports` are simulated, in memory, and fail
on purpose. A seed decides everything, so that any failure found can be replayed.
"""
