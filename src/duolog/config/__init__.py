"""Settings, each declared once with its default, bounds, unit and purpose."""
