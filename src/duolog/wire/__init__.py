"""Bytes to messages and back. Pure: no IO, no clock."""
