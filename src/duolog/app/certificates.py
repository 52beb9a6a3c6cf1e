"""Certificates for the nodes of a cluster: an authority of its own, and one for each node.

Nothing here reads a clock or a file. The keys are EC P-256.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from duolog.wire.peer.hello import Identity

CA_DAYS = 3_650
CLOCK_SKEW = timedelta(hours=1)
"""Tolerated lag of another machine's clock: certificates are valid from this long ago."""


class Signed(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    @property
    def expires(self) -> datetime:
        return x509.load_pem_x509_certificate(self.certificate).not_valid_after_utc


class UnusableAuthority(Exception):
    """The given certificate and key cannot serve as a CA."""


class Authority:
    """A certificate authority with its key, which can sign certificates."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def make(cls, cluster: str, *, now: datetime) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name((NameOID.ORGANIZATION_NAME, cluster), (NameOID.COMMON_NAME, "Duolog CA"))
        builder = _builder(name, name, key.public_key(), now, CA_DAYS)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(_usage(signs_certificates=True), True)
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, signed: Signed) -> "Authority":
        """Load an authority from PEM. Raises UnusableAuthority."""
        try:
            certificate = x509.load_pem_x509_certificate(signed.certificate)
            key = serialization.load_pem_private_key(signed.key, password=None)
        except (ValueError, TypeError) as error:
            raise UnusableAuthority(f"it cannot be read: {error}") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise UnusableAuthority("its key is not an elliptic-curve key, the only kind supported")
        if certificate.public_key() != key.public_key():
            raise UnusableAuthority("the certificate does not belong to the key")
        return cls(certificate, key)

    @property
    def cluster(self) -> str:
        found = self._certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        return str(found[0].value) if found else ""

    @property
    def expires(self) -> datetime:
        return self._certificate.not_valid_after_utc

    @property
    def signed(self) -> Signed:
        return _signed(self._certificate, self._key)

    def sign(self, node: int, hosts: Sequence[str], *, now: datetime, days: int) -> Signed:
        """A certificate for a node reached by these names and addresses; it expires with the CA at
        the latest."""
        key = ec.generate_private_key(ec.SECP256R1())
        # Without a CommonName: etcd takes one in a client certificate for a user name, and its
        # gateway then refuses the client.
        name = _name((NameOID.ORGANIZATION_NAME, self.cluster))
        issuer = self._certificate.subject
        left = max((self.expires - now).days, 0)
        builder = _builder(name, issuer, key.public_key(), now, min(days, left))
        uri = x509.UniformResourceIdentifier(Identity(self.cluster, node).uri)
        names = x509.SubjectAlternativeName([uri, *map(_general_name, hosts)])
        builder = builder.add_extension(names, False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_usage(signs_certificates=False), True)
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), False)
        ours = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(ours, False)
        return _signed(builder.sign(self._key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
    days: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - CLOCK_SKEW)
        .not_valid_after(now.astimezone(UTC) + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), False)
    )


def _name(*attributes: tuple[x509.ObjectIdentifier, str]) -> x509.Name:
    return x509.Name([x509.NameAttribute(kind, value) for kind, value in attributes])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Signed:
    return Signed(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
