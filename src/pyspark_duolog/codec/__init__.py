"""Record batches ⇄ Arrow, without a Python object per record. Pure: no clock, no IO.

layout finds the batches of a buffer and opens them; positions finds every record and field in
them with numpy; columns makes Arrow arrays of what lies there. decode ties these together, and
encode goes the other way.
"""
