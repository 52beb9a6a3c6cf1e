"""Server side of the protocol between the nodes of a cluster."""
