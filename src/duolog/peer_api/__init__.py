"""The door for the other nodes of the cluster."""
