"""Mistakes made on purpose, one at a time: each is a rule taken out, for the oracle to notice.

The product has no switch for any of them; the simulator replaces one of its functions while a
seed runs (planting.py).
"""
