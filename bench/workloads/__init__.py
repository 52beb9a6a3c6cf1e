"""One module per group of workloads; each has `run(stand)`, which yields rows."""
