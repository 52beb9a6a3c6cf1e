"""A queue's messages as a data frame."""
