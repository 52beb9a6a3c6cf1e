"""Checks of requests that need no look at the queue's messages."""
