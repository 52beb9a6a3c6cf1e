"""Queues: delivery, visibility time-outs and completion of messages. Pure."""
