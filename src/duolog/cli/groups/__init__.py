"""`duolog group`: consumer groups and how far they came. The command lines are in commands.py."""
