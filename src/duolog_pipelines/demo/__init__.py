"""Examples that run by themselves: traffic of which everything is known, and what finds it."""
