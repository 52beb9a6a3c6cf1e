"""Codecs of the wire protocols. Pure: no IO, no clock."""
