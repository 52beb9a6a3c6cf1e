"""What tenants have used, from `__usage`: each line once, and its sums by hour and by day."""
