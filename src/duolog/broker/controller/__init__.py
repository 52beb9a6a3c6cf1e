"""The controller: the one node that currently decides leaders and placement."""
