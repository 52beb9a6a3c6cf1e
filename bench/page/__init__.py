"""docs/performance.md and its pictures, made of a report. Run `python -m bench.page`."""
