"""Names of the audit's tables, in a module of their own so that a report needs no Spark."""

BALANCE = "audit_balance"
COVERAGE = "audit_coverage"
PRODUCERS = "audit_producers"
LOSSES = "audit_losses"
DUPLICATES = "audit_duplicates"
LATENCY = "audit_latency"
