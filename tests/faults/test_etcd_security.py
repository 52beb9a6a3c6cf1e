"""The metadata store on an etcd that wants certificates, or a user and a password."""

import asyncio
import base64
import datetime
import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from tests.harness import etcd as etcd_harness
from tests.harness.etcd import Etcd

from duolog.adapters.etcd.security import Credentials, TlsFiles, client_context
from duolog.adapters.etcd.store import EtcdStore
from duolog.ports.metastore import Put, StoreUnavailable

pytestmark = pytest.mark.skipif(not etcd_harness.is_installed, reason="etcd is not installed")

PREFIX = "/duolog/guarded/"
PASSWORD = "correct horse"


class Authority:
    """A CA that writes its certificates, and those that it signs, as PEM files."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.mkdir(exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        builder = self._builder(self._name, self._key).add_extension(constraints, critical=True)
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def sign(self, name: str) -> tuple[Path, Path]:
        """A certificate without a CommonName, for both ends of connections on this machine."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, name)])
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = self._builder(subject, key)
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        certificate = self._directory / f"{name}.pem"
        certificate.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))
        key_file = self._directory / f"{name}.key"
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return certificate, key_file

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
        )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


class Guarded(NamedTuple):
    etcd: Etcd
    files: TlsFiles


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    """An etcd that serves only those who have a certificate of its CA."""
    authority = Authority(tmp_path / "ca", "authority")
    server, server_key = authority.sign("server")
    files = TlsFiles(authority.file, *authority.sign("client"))
    options = ["--cert-file", str(server), "--key-file", str(server_key)]
    options += ["--trusted-ca-file", str(authority.file), "--client-cert-auth"]
    with Etcd(tmp_path / "etcd", options=options, tls=client_context(files)) as etcd:
        yield Guarded(etcd, files)


async def use(store: EtcdStore) -> None:
    """All kinds of requests."""
    put = await store.transact([], [Put("a", b"1")])
    assert (await store.get("a")).value == b"1"
    watch = store.watch("a", put.revision)
    assert (await anext(watch)).revision == put.revision
    await watch.aclose()
    lease = await store.grant_lease(10_000)
    await store.renew_lease(lease)
    await store.revoke_lease(lease)


@pytest.mark.every_event_loop
async def test_a_certificate_of_the_authority_opens_the_door(guarded):
    for tls in (guarded.files, client_context(guarded.files)):
        store = await EtcdStore.open(guarded.etcd.endpoints, PREFIX, tls=tls)
        await use(store)
        await store.close()


async def test_an_etcd_of_an_unknown_authority_is_not_trusted(guarded, tmp_path):
    stranger = Authority(tmp_path / "stranger", "stranger")
    with pytest.raises(StoreUnavailable, match="certificate is not accepted"):
        await EtcdStore.open(guarded.etcd.endpoints, PREFIX, tls=TlsFiles(stranger.file))


async def test_without_a_certificate_one_is_told_why(guarded):
    with pytest.raises(StoreUnavailable, match=r"bad certificate|certificate required"):
        await EtcdStore.open(guarded.etcd.endpoints, PREFIX, tls=TlsFiles(guarded.files.ca))


async def test_an_etcd_that_wants_tls_is_not_spoken_to_without(guarded):
    with pytest.raises(StoreUnavailable):
        await EtcdStore.open(guarded.etcd.endpoints, PREFIX)


@pytest.mark.parametrize("what", ["ca", "certificate"])
async def test_files_that_are_missing_are_named(tmp_path, what):
    missing = tmp_path / "missing.pem"
    with pytest.raises(StoreUnavailable, match=r"missing\.pem cannot be used"):
        client_context(TlsFiles(**{what: missing}))


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Etcd]:
    """An etcd whose user "broker" may use the prefix alone."""
    with Etcd(tmp_path / "etcd") as etcd:
        first, end = (base64.b64encode(key).decode() for key in (b"/duolog/g", b"/duolog/h"))
        permission = {"permType": "READWRITE", "key": first, "range_end": end}
        for path, request in [
            ("user/add", {"name": "root", "password": PASSWORD}),
            ("role/add", {"name": "root"}),
            ("user/grant", {"user": "root", "role": "root"}),
            ("user/add", {"name": "broker", "password": PASSWORD}),
            ("role/add", {"name": "metadata"}),
            ("role/grant", {"name": "metadata", "perm": permission}),
            ("user/grant", {"user": "broker", "role": "metadata"}),
            ("enable", {}),
        ]:
            etcd.ask(f"/v3/auth/{path}", request)
        yield etcd


async def test_a_token_that_etcd_has_forgotten_is_renewed(private):
    store = await EtcdStore.open(
        private.endpoints, PREFIX, credentials=Credentials("broker", PASSWORD)
    )
    await use(store)
    before = (await store.get("a")).mod_revision
    watch = store.watch("a", before)
    assert (await anext(watch)).revision == before
    # Its tokens are in memory alone.
    private.kill(0)
    private.start(0)
    await asyncio.to_thread(private.until_healthy)
    result = await store.transact([], [Put("a", b"2")])
    assert (await anext(watch)).revision == result.revision
    await use(store)
    await store.close()


async def test_a_wrong_password_is_refused_with_the_name_of_the_user(private):
    with pytest.raises(StoreUnavailable, match=r"'broker'.*authentication failed"):
        await EtcdStore.open(private.endpoints, PREFIX, credentials=Credentials("broker", "wrong"))


async def test_without_a_password_one_is_told_to_have_one(private):
    with pytest.raises(StoreUnavailable, match="requires a user and a password"):
        await EtcdStore.open(private.endpoints, PREFIX)


async def test_what_a_user_may_not_do_is_refused(private):
    credentials = Credentials("broker", PASSWORD)
    with pytest.raises(StoreUnavailable, match="permission denied"):
        await EtcdStore.open(private.endpoints, "/elsewhere/", credentials=credentials)


async def test_a_password_is_not_needed_where_nobody_asks_for_it(tmp_path):
    with Etcd(tmp_path / "etcd") as etcd:
        credentials = Credentials("broker", PASSWORD)
        store = await EtcdStore.open(etcd.endpoints, PREFIX, credentials=credentials)
        await use(store)
        await store.close()


def test_a_password_is_not_shown():
    assert PASSWORD not in repr(Credentials("broker", PASSWORD))
