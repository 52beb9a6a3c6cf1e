"""What operators ask over HTTP: is the node alive, is it ready, what does it measure,
and what is in its queues."""
