"""`duolog queue`: queues and the messages in them. The command lines are in commands.py."""
