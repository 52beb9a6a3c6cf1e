"""Early checks of files that settings name, for errors that name the file.

TLS libraries do not tell which of several files they could not read, and a reader told only that
certificates cannot be used makes new ones, which does not help.
"""

from pathlib import Path

from duolog.app.data_directory import StartRefused
from duolog.config.settings import Settings
from duolog.config.unreadable import unreadable


def check_readable(settings: Settings, *names: str) -> None:
    """Check the files that these settings name, if any. Raises StartRefused."""
    for name in names:
        file = settings.text(name)
        if not file:
            continue
        try:
            with Path(file).open("rb"):
                pass
        except OSError as problem:
            raise StartRefused(unreadable(file, problem, name)) from None
