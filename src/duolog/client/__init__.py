"""A small asyncio client: Kafka for topics and groups, HTTP for queues and operators.

For the command line, Spark and peers. `cluster.Cluster` finds brokers and keeps a connection
to each; the modules named for what they do (topics, offsets, producer, consumer, groups) are
functions over it. Refusals and unreachable nodes are different errors (errors.py).
"""
