"""Authentication by user and password, with a token that is valid until etcd forgets it."""

import asyncio

from duolog.adapters.etcd.failures import NoAnswer, NotSent, Refused
from duolog.adapters.etcd.gateway import Gateway
from duolog.adapters.etcd.messages import Decoder, TokenAnswer, encode
from duolog.adapters.etcd.security import Credentials

_tokens = Decoder(TokenAnswer)

_NO_TOKEN = ""
"""Token of an etcd without authentication."""


class Authentication:
    def __init__(self, credentials: Credentials | None) -> None:
        self._credentials = credentials
        self._token: str | None = _NO_TOKEN if credentials is None else None
        self._renewal: asyncio.Task[str] | None = None

    @property
    def is_possible(self) -> bool:
        return self._credentials is not None

    async def token(self, gateway: Gateway, deadline: float) -> str:
        """The token, requested first if there is none. Raises NotSent and Refused."""
        if self._token is not None:
            return self._token
        if self._renewal is None:
            # One request serves all callers: checking a password is slow by design.
            self._renewal = asyncio.create_task(self._renew(gateway, deadline))
            self._renewal.add_done_callback(self._renewed)
        return await asyncio.shield(self._renewal)

    def forget(self, token: str) -> None:
        """Forgets a token that etcd no longer accepts, unless a newer one has replaced it."""
        if self._credentials is not None and self._token == token:
            self._token = None

    async def _renew(self, gateway: Gateway, deadline: float) -> str:
        assert self._credentials is not None
        user = self._credentials.user
        request = encode({"name": user, "password": self._credentials.password})
        try:
            body = await gateway.ask("/v3/auth/authenticate", request, None, deadline)
            return _tokens.read(body).token
        except Refused as refused:
            if "authentication is not enabled" in refused.message:
                return _NO_TOKEN
            if refused.is_passing:
                raise NotSent(refused.message) from None
            raise Refused(refused.code, f"user {user!r}: {refused.message}") from None
        except NoAnswer as problem:
            # NotSent, because the caller's own request has not left yet.
            raise NotSent(str(problem)) from None

    def _renewed(self, renewal: asyncio.Task[str]) -> None:
        self._renewal = None
        if not renewal.cancelled() and renewal.exception() is None:
            self._token = renewal.result()
