"""Codecs of the Kafka protocol.

Produce, Fetch and Metadata are on every client's path and have hand-written codecs (produce/,
fetch/, metadata.py); every other API is read and written from its schema (messages.py). Tests prove
all of them equal to kio's own serialisation.
"""
