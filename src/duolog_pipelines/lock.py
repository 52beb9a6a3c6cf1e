"""Lock that allows one run of a pipeline at a time: two would commit the same records twice."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from duolog_pipelines.errors import NotAllowed


@contextmanager
def only_run(directory: Path, name: str) -> Iterator[None]:
    """Hold the pipeline's lock. NotAllowed while another process holds it.

    The lock ends with the process, however it ends.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / name).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise NotAllowed(
                f"The pipeline '{name}' runs already, as process {holder}, on the same data"
                " directory. Wait for it, or stop it."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
