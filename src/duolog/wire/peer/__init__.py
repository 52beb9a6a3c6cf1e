"""What the nodes of a cluster say to each other. Nobody else speaks it."""
