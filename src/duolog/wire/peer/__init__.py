"""Protocol between the nodes of a cluster. Nobody else speaks it."""
