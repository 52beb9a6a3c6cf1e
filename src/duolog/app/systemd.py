"""Readiness notification of systemd (sd_notify), if it has started this process."""

import os
import socket
from contextlib import suppress

READY = "READY=1"
STOPPING = "STOPPING=1"
_VARIABLE = "NOTIFY_SOCKET"


def tell_systemd(state: str) -> None:
    """Send a state to systemd; do nothing if it did not start this process."""
    address = os.environ.get(_VARIABLE)
    if not address:
        return
    if address.startswith("@"):
        # A leading @ stands for a socket in the abstract namespace.
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(state.encode(), address)
