"""Reports of `duolog pipeline report`: tables and charts, as text or as an HTML page."""
