"""What tenants owe for what they have used: priced exactly, closed by offsets, never re-opened."""
