"""The SQS protocols: bytes to requests and answers to bytes, in JSON 1.0 and in Query/XML."""
