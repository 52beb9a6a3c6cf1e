"""Lines of standard input, as they come: a person's one by one, a file's by the thousand."""

import io
import sys
from collections.abc import Iterator

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import tell

LINE_BYTES_MAX = 64 << 20
_READ_BYTES = 256 << 10


def read_lines(each: str) -> Iterator[list[bytes]]:
    """Yield the lines of each read, without line ends. The last line may lack its end.

    Somebody who types is told what each line becomes.
    """
    if sys.stdin.isatty():
        tell(f"Each line that you type becomes {each}. End with Ctrl-D.")
    source = sys.stdin.buffer
    assert isinstance(source, io.BufferedReader | io.BytesIO)
    rest = b""
    while data := source.read1(_READ_BYTES):
        first, *others = data.split(b"\n")
        rest += first
        if others:
            lines = [rest, *others[:-1]]
            rest = others[-1]
            yield [line.removesuffix(b"\r") for line in lines]
        if len(rest) > LINE_BYTES_MAX:
            raise Failure(
                f"A line has more than {LINE_BYTES_MAX} bytes. Send less at once.", ExitCode.USAGE
            )
    if rest:
        yield [rest]
