"""`duolog cluster`."""
