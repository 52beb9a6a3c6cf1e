"""The controller: the one node that now decides who leads what."""
