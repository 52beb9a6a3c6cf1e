"""The client that sent a request."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    client_id: str
    host: str
    api_version: int
