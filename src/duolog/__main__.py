"""`python -m duolog` is the command `duolog`."""

from duolog.cli.main import app

app(prog_name="duolog")
