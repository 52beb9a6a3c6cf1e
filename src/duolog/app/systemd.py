"""Tells systemd, if it has started this process, that the node serves or that it stops."""

import os
import socket
from contextlib import suppress

READY = "READY=1"
STOPPING = "STOPPING=1"
_VARIABLE = "NOTIFY_SOCKET"


def tell_systemd(state: str) -> None:
    """Nothing where nobody listens."""
    address = os.environ.get(_VARIABLE)
    if not address:
        return
    if address.startswith("@"):
        # How the environment writes a name that is not in the file system.
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(state.encode(), address)
