"""What operators see: metrics, health and structured logs."""
