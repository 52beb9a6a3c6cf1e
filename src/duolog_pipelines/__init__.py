"""Duolog's data pipelines on Spark: usage and bills, and whatever else the registry names.

A pipeline is a folder: pure functions from DataFrame to DataFrame, and a `pipeline` module that
reads, calls them and writes. `duolog pipeline` runs them; Spark is loaded when one runs.
"""
