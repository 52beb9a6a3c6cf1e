"""What `duolog pipeline report` shows: sections of tables and charts, as text or as a page."""
