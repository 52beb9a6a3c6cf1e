"""Mistakes made on purpose, one at a time: each removes a rule, and the oracle must notice.

The product has no switch for any of them; the simulator replaces one of its functions while a seed
runs (planting.py).
"""
