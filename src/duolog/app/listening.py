"""Error text for an address on which a door cannot listen."""

from duolog.app.data_directory import StartRefused
from duolog.config.address import Address


def cannot_listen(name: str, address: Address, error: OSError) -> StartRefused:
    return StartRefused(
        f"The node cannot listen on {address} ({name}): {error.strerror or error}."
        " Choose another address, or port 0 for a free one."
    )
