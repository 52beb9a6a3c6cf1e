"""Nouns, limits and refusals that every other layer shares."""
