"""Conversion between record batches and Arrow, without a Python object per record. Pure: no clock,
no IO.

layout finds the batches of a buffer and opens them; positions finds every record and field in them
with numpy; arrays builds Arrow arrays from these positions. decode ties the three together, plain
does the same for most batches in one pass, in C, and encode goes the other way.
"""
