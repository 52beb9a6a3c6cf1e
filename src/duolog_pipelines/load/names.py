"""What the tables of the pipeline are called; apart, so that a report needs no Spark."""

PARTITIONS = "load_partitions"
HOT_KEYS = "load_hot_keys"
GROWTH = "load_growth"
ADVICE = "advice.json"
"""Among the exports."""
