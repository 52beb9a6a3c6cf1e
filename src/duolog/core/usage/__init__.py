"""What is used, by whom, and how it is counted and told. Driven by broker/usage."""
