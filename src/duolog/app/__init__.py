"""The composition root: the only place that knows every concrete class."""
