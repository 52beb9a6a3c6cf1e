"""Audit: the fate of every accepted message, and losses and duplicates of numbered ones."""
