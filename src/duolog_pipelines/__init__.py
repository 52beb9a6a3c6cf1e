"""Duolog's data pipelines on Spark: usage, bills, audits, the archive and load, by name in the
registry.

A pipeline is a folder: pure functions from DataFrame to DataFrame, and a `pipeline` module that
reads, calls them and writes. `duolog pipeline` runs them; Spark is loaded only when one runs.
"""
