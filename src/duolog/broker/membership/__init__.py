"""This node as one of several: its registration, and what it knows of the others."""
