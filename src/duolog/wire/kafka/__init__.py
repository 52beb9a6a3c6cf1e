"""The Kafka protocol.

Produce, Fetch and Metadata are on every client's path and have codecs written by hand
(produce.py, fetch.py, metadata.py); every other API is read and written from its schema
(messages.py). Tests prove all of them equal to kio's own serialisation.
"""
