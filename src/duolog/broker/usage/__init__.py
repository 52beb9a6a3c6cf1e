"""Metering: counters that outlive the process, and the usage lines that are made of them."""
