"""Every setting, declared once: its default, its bounds, its unit and what it is for."""
