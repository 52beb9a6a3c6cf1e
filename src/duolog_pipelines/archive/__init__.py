"""Topics, and queues as the topics they are, to a Delta table that outlives their retention."""
