"""What a request may ask, as far as that can be told without the queue's messages."""
