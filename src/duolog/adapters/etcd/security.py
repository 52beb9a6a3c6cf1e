"""Credentials of the client, and the certificates that it trusts."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from duolog.ports.metastore import StoreUnavailable


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user of etcd's own authentication."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Credentials(user={self.user!r})"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files for TLS. etcd's gateway refuses client certificates that have a CommonName."""

    ca: Path | None = None
    """Certificates to trust instead of the system's authorities."""
    certificate: Path | None = None
    key: Path | None = None
    """Key of the certificate, unless one file holds both."""


def client_context(files: TlsFiles) -> ssl.SSLContext:
    """TLS context from the files. Blocking. Raises StoreUnavailable if they cannot be used."""
    try:
        context = ssl.create_default_context(cafile=files.ca)
    except (OSError, ValueError) as error:
        raise StoreUnavailable(f"etcd's CA file {files.ca} cannot be used: {error}") from None
    if files.certificate is not None:
        try:
            context.load_cert_chain(files.certificate, files.key)
        except (OSError, ValueError) as error:
            raise StoreUnavailable(
                f"the client certificate {files.certificate} cannot be used: {error}"
            ) from None
    return context
