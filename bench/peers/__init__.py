"""Other brokers, given the same durable work: one module per peer."""
