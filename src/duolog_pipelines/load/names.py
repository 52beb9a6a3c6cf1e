"""Names of the pipeline's tables, in a module of their own so that a report needs no Spark."""

PARTITIONS = "load_partitions"
HOT_KEYS = "load_hot_keys"
GROWTH = "load_growth"
ADVICE = "advice.json"
"""File name of the advice, among the exports."""
