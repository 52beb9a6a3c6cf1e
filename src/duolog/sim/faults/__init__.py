"""Faults that befall nodes, links, disks, clocks and the store, and their schedule.

Faults that destroy durable data (a wiped disk, a flipped bit) befall only one node of a cluster: no
cluster keeps data that all of its disks have lost.
"""
