"""`duolog group`: consumer groups and their progress. The command lines are in commands.py."""
