"""Whole clusters in one process, on a virtual clock, network, disk and metadata store.

The code that runs is the product's own; only what is behind `ports` is made of memory here, and
goes wrong on purpose. A seed decides everything, so that what was found can be seen again.
"""
