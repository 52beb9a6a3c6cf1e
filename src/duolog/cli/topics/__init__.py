"""`duolog topic`: topics and the records in them. The command lines are in commands.py."""
