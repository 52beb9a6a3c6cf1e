"""Consumer groups: members, assignments and committed offsets. Pure state machines."""
