"""SQS protocols, JSON 1.0 and Query/XML: bytes to requests, and answers to bytes."""
