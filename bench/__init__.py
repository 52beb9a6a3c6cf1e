"""Measures the broker against the floor of what this machine can do. Run `python -m bench`."""
