"""Consumer groups: who is in them, what they read, how far they came. Pure state machines."""
