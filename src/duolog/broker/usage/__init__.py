"""Metering: counters that outlive the process, and the usage lines made from them."""
