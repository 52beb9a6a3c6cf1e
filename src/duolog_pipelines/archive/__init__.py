"""Archives topics and queues to a Delta table that outlives their retention."""
