"""Reads topics as data frames: planned on the driver, read in the tasks."""
