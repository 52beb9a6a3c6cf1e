"""Allow-list of push targets: the setting `push.allow`. Pure.

A URL is checked twice: by its text when it is set on a queue, so that a mistake is noticed then,
and by the resolved address at every push, since a name may point elsewhere by then.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from duolog.config.push_target import IpAddress, parse_push_target
from duolog.model.queue_errors import InvalidAttributeValue

_PORTS = {"http": 80, "https": 443}


class PushAllowList:
    def __init__(self, texts: Sequence[str]) -> None:
        self._targets = [parse_push_target(text) for text in texts]

    def allows(self, host: str, address: IpAddress, port: int) -> bool:
        """True if the URL's host may be contacted at the address that it resolved to."""
        return any(target.allows(host, address, port) for target in self._targets)

    def check(self, url: str) -> None:
        """Refuses a URL that no resolution of its host could make allowed."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or _PORTS[parts.scheme]
        if not self._may_allow(host, port):
            raise InvalidAttributeValue(
                "Invalid value for the parameter duolog:PushEndpoint. Reason: The setting"
                f" push.allow of the node does not allow {host}:{port}."
            )

    def _may_allow(self, host: str, port: int) -> bool:
        try:
            address = ip_address(host)
        except ValueError:
            return any(
                target.port in (None, port)
                # The name may resolve to an address of the network.
                and (target.network is not None or target.host == host)
                for target in self._targets
            )
        return self.allows(host, address, port)
