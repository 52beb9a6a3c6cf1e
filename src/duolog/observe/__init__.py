"""Observability: metrics, health and structured logs."""
