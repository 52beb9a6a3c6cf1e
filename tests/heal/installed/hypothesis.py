"""Stands where nodes look for Hypothesis, which users do not have beside Duolog.

A library of theirs imports it if it is there, in one turn of the event loop of half a second.
"""

raise ImportError("no node needs Hypothesis")
