"""The harness behind `make heal`: faults under load, and how soon a cluster serves again."""
