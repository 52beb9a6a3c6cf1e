"""Duolog's connector for Spark: `.format("duolog")`."""
