"""Push delivery: posts a queue's messages to an HTTP endpoint, instead of a polling consumer."""
