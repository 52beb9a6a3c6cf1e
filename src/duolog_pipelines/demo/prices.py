"""The demo's price list, as an operator would write it."""

PRICES = """\
currency = "EUR"

[[list]]
from = 2020-01-01

[list.send]
per_million_messages = 0.40

[list.produce]
per_million_messages = 0.20

[list.receive]
per_million_requests = 0.40

[list.store]
per_gb_month = 0.10
"""
