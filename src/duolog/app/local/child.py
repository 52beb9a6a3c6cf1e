"""One child process of a local cluster, with its log file."""

import asyncio
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

STOP_SECONDS_MAX = 15.0


class Child:
    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.is_running else None

    async def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # A process group of its own, so that Ctrl-C reaches only the supervisor.
                process_group=0,
            )

    async def ended(self) -> int:
        assert self._process is not None
        return await self._process.wait()

    def kill(self) -> None:
        if self._process is not None and self.is_running:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def stop(self) -> None:
        """Stop by SIGTERM, and by SIGKILL if that takes too long; a frozen process is continued
        first."""
        if self._process is None or not self.is_running:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
            self._process.send_signal(signal.SIGCONT)
        try:
            async with asyncio.timeout(STOP_SECONDS_MAX):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()

    def last_lines(self, count: int = 5) -> str:
        with suppress(OSError):
            lines = self.log.read_text(errors="replace").splitlines()
            return "\n".join(lines[-count:])
        return ""
