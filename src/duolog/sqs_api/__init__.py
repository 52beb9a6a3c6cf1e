"""The SQS door: one handler per action, shared by both protocols (JSON and query)."""
