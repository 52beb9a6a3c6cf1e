"""Programs for which the permissions of files hold, also when root runs the tests."""

import os
from collections.abc import Sequence

_OVERRIDES = "-dac_override,-dac_read_search"


def unprivileged(command: Sequence[str]) -> list[str]:
    """A command that owns the same files, and may read none that it is not permitted to."""
    if os.geteuid() != 0:
        return list(command)
    dropped = [f"--bounding-set={_OVERRIDES}", f"--inh-caps={_OVERRIDES}"]
    return ["setpriv", *dropped, *command]
