"""What the tables of the audit are called; apart, so that a report needs no Spark."""

BALANCE = "audit_balance"
COVERAGE = "audit_coverage"
PRODUCERS = "audit_producers"
LOSSES = "audit_losses"
DUPLICATES = "audit_duplicates"
LATENCY = "audit_latency"
