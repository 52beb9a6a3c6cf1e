"""What one node answers another, one module per kind of request."""
