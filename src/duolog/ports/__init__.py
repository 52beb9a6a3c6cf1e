"""The outside world as Protocols. adapters/ has the real ones, tests and sim the others."""
