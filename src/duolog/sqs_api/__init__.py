"""The SQS door: door → actions, one module per action, in both protocols."""
