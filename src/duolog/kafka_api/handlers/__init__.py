"""One module per Kafka API, named as on the wire."""
