"""Load of partitions, keys, queues and nodes, and advice on how to spread it."""
