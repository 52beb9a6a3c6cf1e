"""Other brokers beside ours: one module per peer."""
