"""Session with etcd: adds the token, and checks that all endpoints belong to one cluster."""

from typing import Any

from duolog.adapters.etcd.address import Endpoint
from duolog.adapters.etcd.authentication import Authentication
from duolog.adapters.etcd.connection import Stream
from duolog.adapters.etcd.failures import PERMISSION_DENIED, NoAnswer, NotSent, Refused
from duolog.adapters.etcd.gateway import Gateway
from duolog.adapters.etcd.messages import A, Answer, Decoder, Header, WatchAnswer, encode
from duolog.adapters.etcd.security import Credentials

_statuses = Decoder(Answer)
_watched = Decoder(WatchAnswer, streamed=True)


class Session:
    def __init__(self, credentials: Credentials | None) -> None:
        self._authentication = Authentication(credentials)
        self._cluster_id: str | None = None
        self._identified: set[Endpoint] = set()

    async def ask(
        self,
        gateway: Gateway,
        path: str,
        request: dict[str, Any],
        decoder: Decoder[A],
        deadline: float,
    ) -> A:
        """The decoded answer. Raises NotSent, NoAnswer and Refused."""
        await self._identify(gateway, deadline)
        body = encode(request)
        token = await self._authentication.token(gateway, deadline)
        try:
            answer = await gateway.ask(path, body, token, deadline)
        except Refused as refused:
            if not refused.wants_token or not self._authentication.is_possible:
                raise
            # etcd does nothing without a valid token, so this repeats nothing.
            self._authentication.forget(token)
            token = await self._authentication.token(gateway, deadline)
            answer = await gateway.ask(path, body, token, deadline)
        message = decoder.read(answer)
        self.check(message.header)
        return message

    async def watch(
        self, gateway: Gateway, request: dict[str, Any], deadline: float
    ) -> "WatchStream":
        """Opens a watch. Raises NotSent, NoAnswer and Refused."""
        await self._identify(gateway, deadline)
        token = await self._authentication.token(gateway, deadline)
        stream = await gateway.stream("/v3/watch", encode(request), token, deadline)
        return WatchStream(self, stream, token)

    def forget(self, token: str) -> None:
        self._authentication.forget(token)

    async def _identify(self, gateway: Gateway, deadline: float) -> None:
        """Checks an endpoint's cluster once, before first use: a write to another one cannot be
        undone."""
        if gateway.endpoint in self._identified:
            return
        try:
            status = await gateway.ask("/v3/maintenance/status", b"{}", None, deadline)
            self.check(_statuses.read(status).header)
        except (NoAnswer, Refused) as problem:
            raise NotSent(str(problem)) from None
        self._identified.add(gateway.endpoint)

    def check(self, header: Header) -> None:
        """Checks an answer's cluster; raises NoAnswer if it is another one."""
        if self._cluster_id is None:
            self._cluster_id = header.cluster_id
        elif header.cluster_id != self._cluster_id:
            raise NoAnswer(
                f"it belongs to etcd cluster {header.cluster_id}, and another endpoint to"
                f" {self._cluster_id}"
            )


class WatchStream:
    def __init__(self, session: Session, stream: Stream, token: str) -> None:
        self._session = session
        self._stream = stream
        self._token = token

    async def next(self) -> WatchAnswer:
        """The next answer. Raises NoAnswer, and Refused if the watch is not permitted."""
        answer = _watched.read(await self._stream.next())
        self._session.check(answer.header)
        if answer.canceled and "permission denied" in answer.cancel_reason:
            # etcd gives the same reason for a token that it has forgotten.
            self._session.forget(self._token)
            raise Refused(PERMISSION_DENIED, answer.cancel_reason)
        return answer

    def close(self) -> None:
        self._stream.close()
