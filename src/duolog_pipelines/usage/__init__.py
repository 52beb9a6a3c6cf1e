"""Usage of tenants, from `__usage`: each line once, and sums by hour and by day."""
