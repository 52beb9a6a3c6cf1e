"""Whether this node may still count as alive. Pure."""
