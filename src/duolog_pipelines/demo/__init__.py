"""A demo that runs by itself: traffic with known mistakes, and pipelines that find them."""
