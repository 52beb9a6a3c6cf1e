"""Certificates of a cluster say which node of which cluster they are for, and little else."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from duolog.app.certificates import CA_DAYS, Authority, Signed, UnusableAuthority

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.make("prod", now=NOW)


def parsed(signed: Signed) -> x509.Certificate:
    return x509.load_pem_x509_certificate(signed.certificate)


def names_in(signed: Signed) -> x509.SubjectAlternativeName:
    return parsed(signed).extensions.get_extension_for_class(x509.SubjectAlternativeName).value


def test_a_certificate_names_its_node_and_its_hosts(authority: Authority) -> None:
    names = names_in(authority.sign(7, ["host7", "10.0.0.7", "::1"], now=NOW, days=1))
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == ["duolog://prod/7"]
    assert names.get_values_for_type(x509.DNSName) == ["host7"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.7", "::1"]


def test_a_certificate_has_no_common_name(authority: Authority) -> None:
    """etcd's gateway refuses clients whose certificates have one."""
    subject = parsed(authority.sign(1, ["a"], now=NOW, days=1)).subject
    assert subject.get_attributes_for_oid(NameOID.COMMON_NAME) == []


def test_a_certificate_is_signed_by_the_authority_and_can_sign_nothing(
    authority: Authority,
) -> None:
    signed = parsed(authority.sign(1, ["a"], now=NOW, days=1))
    signed.verify_directly_issued_by(parsed(authority.signed))
    assert not signed.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = signed.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_cert_sign) == (True, False)


def test_a_certificate_lasts_as_long_as_asked_but_not_longer_than_the_authority(
    authority: Authority,
) -> None:
    assert authority.sign(1, ["a"], now=NOW, days=30).expires == NOW + timedelta(days=30)
    late = NOW + timedelta(days=CA_DAYS - 10)
    assert authority.sign(1, ["a"], now=late, days=30).expires == authority.expires


def test_a_clock_may_be_a_little_behind(authority: Authority) -> None:
    signed = parsed(authority.sign(1, ["a"], now=NOW, days=1))
    assert signed.not_valid_before_utc == NOW - timedelta(hours=1)


def test_every_key_is_another(authority: Authority) -> None:
    assert authority.sign(1, ["a"], now=NOW, days=1).key != (
        authority.sign(1, ["a"], now=NOW, days=1).key
    )


def test_an_authority_can_be_kept(authority: Authority) -> None:
    again = Authority.load(authority.signed)
    assert again.cluster == "prod"
    assert again.signed == authority.signed
    parsed(again.sign(1, ["a"], now=NOW, days=1)).verify_directly_issued_by(
        parsed(authority.signed)
    )


def test_what_is_no_authority_is_refused(authority: Authority) -> None:
    other = Authority.make("prod", now=NOW).signed
    foreign = rsa.generate_private_key(65_537, 2_048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    for certificate, key, said in [
        (b"", other.key, "cannot be read"),
        (other.certificate, b"nonsense", "cannot be read"),
        (authority.signed.certificate, other.key, "does not belong to the key"),
        (authority.signed.certificate, foreign, "not an elliptic-curve key"),
    ]:
        with pytest.raises(UnusableAuthority, match=said):
            Authority.load(Signed(certificate, key))
