"""Protocols of the outside world. adapters/ has the real ones, tests and sim have others."""
