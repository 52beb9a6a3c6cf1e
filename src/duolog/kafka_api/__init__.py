"""The Kafka door: connection → dispatch → handlers, one module per API."""
