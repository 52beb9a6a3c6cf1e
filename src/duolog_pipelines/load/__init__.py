"""Where the load is: partitions, keys, queues and nodes, and what to do about it."""
