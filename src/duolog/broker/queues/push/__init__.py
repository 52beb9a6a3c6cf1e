"""Delivers the messages of a queue by HTTP POST, in place of a consumer that asks for them."""
