"""What goes wrong, and when.

Only what destroys data that was durable, a wiped disk or a flipped bit, befalls one node of a
cluster alone: no cluster keeps what all of its disks have lost.
"""
