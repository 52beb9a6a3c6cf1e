"""What the controller decides: elections, placement, moves, scaling. Pure."""
