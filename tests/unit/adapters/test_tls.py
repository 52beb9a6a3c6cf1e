"""Who may connect: only who has a certificate of the cluster's own CA."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.harness.certificates import ClusterCertificates

from duolog.adapters import tls
from duolog.adapters.network import TlsNetwork
from duolog.adapters.tcp import TcpListener
from duolog.adapters.tls_contexts import UnusableCertificate, peer_tls_contexts
from duolog.app.certificates import Authority
from duolog.ports.transport import Transport


class Greeter:
    """A session that says hello and keeps what it is told."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.data = bytearray()
        self.is_closed = False
        self._buffer = memoryview(bytearray(1_024))
        transport.send(b"hello")

    def get_buffer(self) -> memoryview:
        return self._buffer

    def received(self, count: int) -> None:
        self.data += self._buffer[:count]

    def drained(self) -> None: ...

    def closed(self) -> None:
        self.is_closed = True


class House:
    """A node that listens."""

    def __init__(self, certificates: ClusterCertificates) -> None:
        self._network = certificates.network(1)
        self.sessions: list[Greeter] = []
        self.listener: TcpListener

    async def open(self) -> None:
        self.listener = await self._network.listen("127.0.0.1", 0, self._new_session)

    def _new_session(self, transport: Transport) -> Greeter:
        self.sessions.append(Greeter(transport))
        return self.sessions[-1]

    async def visit(self, network: TlsNetwork) -> Greeter:
        """What a visitor is told, once the house has answered or closed."""
        visitors: list[Greeter] = []

        def new_session(transport: Transport) -> Greeter:
            visitors.append(Greeter(transport))
            return visitors[-1]

        async with asyncio.timeout(5):
            await network.dial(*self.listener.address, new_session)
            while not (visitors[0].data or visitors[0].is_closed):
                await asyncio.sleep(0.001)
        return visitors[0]

    async def is_left(self) -> None:
        async with asyncio.timeout(5):
            while self.listener.connection_count:
                await asyncio.sleep(0.001)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> ClusterCertificates:
    return ClusterCertificates(tmp_path_factory.mktemp("ours"))


@pytest.fixture
async def house(certificates: ClusterCertificates) -> AsyncIterator[House]:
    house = House(certificates)
    await house.open()
    yield house
    house.listener.stop_accepting()
    house.listener.abort_connections()


async def test_each_side_knows_which_node_the_other_is(
    house: House, certificates: ClusterCertificates
) -> None:
    visitor = await house.visit(certificates.network(2))
    assert visitor.data == b"hello"
    assert visitor.transport.identity == "duolog://testing/1"
    assert house.sessions[0].transport.identity == "duolog://testing/2"
    visitor.transport.abort()


async def test_the_certificate_of_another_ca_is_refused_by_both(
    house: House, certificates: ClusterCertificates, tmp_path: Path
) -> None:
    others = ClusterCertificates(tmp_path / "others")
    with pytest.raises(OSError, match="the certificate is not accepted"):
        await house.visit(others.network(2))
    await house.is_left()
    # A visitor who would trust the house, and is not trusted by it.
    _, trusting = peer_tls_contexts(certificates.ca, *others.files(2))
    with capture_logs() as logs:
        visitor = await house.visit(TlsNetwork(trusting, trusting))
        await house.is_left()
    assert visitor.is_closed
    assert visitor.data == b""
    assert house.sessions == []
    (event,) = [each for each in logs if each["event"] == "connection refused"]
    assert "the certificate is not accepted" in event["reason"]


async def test_who_shows_no_certificate_is_refused(
    house: House, certificates: ClusterCertificates
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(certificates.ca)
    visitor = await house.visit(TlsNetwork(context, context))
    assert visitor.data == b""
    assert house.sessions == []


async def test_an_expired_certificate_is_refused(
    house: House, certificates: ClusterCertificates
) -> None:
    server, client = certificates.contexts(2, days_ago=10, days=5)
    visitor = await house.visit(TlsNetwork(server, client))
    assert visitor.data == b""
    assert house.sessions == []


async def test_older_versions_of_tls_are_refused(
    house: House, certificates: ClusterCertificates
) -> None:
    server, client = certificates.contexts(2)
    client.minimum_version = ssl.TLSVersion.TLSv1_2
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(OSError, match="the TLS handshake failed"):
        await house.visit(TlsNetwork(server, client))
    assert house.sessions == []


@pytest.mark.every_event_loop
async def test_a_slow_handshake_is_ended_and_holds_up_nobody(
    house: House, certificates: ClusterCertificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "HANDSHAKE_SECONDS_MAX", 1.5)
    with socket.create_connection(house.listener.address) as silent:
        visitor = await house.visit(certificates.network(2))
        assert visitor.data == b"hello"
        silent.setblocking(False)
        loop = asyncio.get_running_loop()
        assert await asyncio.wait_for(loop.sock_recv(silent, 1), 10) == b""
    visitor.transport.abort()
    await house.is_left()


async def test_garbage_is_refused(house: House) -> None:
    with socket.create_connection(house.listener.address) as client:
        client.sendall(os.urandom(10_000))
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            while await asyncio.wait_for(loop.sock_recv(client, 4_096), 5):
                pass
        except ConnectionError:
            pass
    await house.is_left()
    assert house.sessions == []


async def test_dialling_what_speaks_no_tls_fails(certificates: ClusterCertificates) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    with pytest.raises(OSError, match="the TLS handshake failed"):
        await certificates.network(2).dial(*server.sockets[0].getsockname(), Greeter)
    server.close()


async def test_a_dial_that_is_cancelled_leaves_nothing_open(
    certificates: ClusterCertificates,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        dialling = asyncio.create_task(
            certificates.network(2).dial(*listening.getsockname(), Greeter)
        )
        accepted, _ = await asyncio.get_running_loop().run_in_executor(None, listening.accept)
        await asyncio.sleep(0.01)
        dialling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dialling
        with accepted:
            accepted.settimeout(5)
            while accepted.recv(4_096):
                pass


def test_files_that_are_of_no_use_are_named(
    certificates: ClusterCertificates, tmp_path: Path
) -> None:
    certificate, key = certificates.files(2)
    nothing = tmp_path / "nothing.pem"
    with pytest.raises(UnusableCertificate, match=r"CA file .*nothing.pem"):
        peer_tls_contexts(nothing, certificate, key)
    nothing.write_text("no certificate")
    with pytest.raises(UnusableCertificate, match=r"certificate .*nothing.pem"):
        peer_tls_contexts(certificates.ca, nothing, key)
    other = tmp_path / "other.key"
    other.write_bytes(Authority.make("other", now=datetime.now(UTC)).signed.key)
    with pytest.raises(UnusableCertificate, match=r"key .*other.key"):
        peer_tls_contexts(certificates.ca, certificate, other)
