"""Decisions of the controller: elections, placement, moves, scaling. Pure."""
