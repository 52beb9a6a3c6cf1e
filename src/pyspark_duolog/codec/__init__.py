"""Record batches ⇄ Arrow, without a Python object per record. Pure: no clock, no IO.

layout finds the batches of a buffer and opens them; positions finds every record and field in
them with numpy; arrays makes Arrow arrays of what lies there. decode ties these together, plain
does the same of most batches in one pass, in C, and encode goes the other way.
"""
