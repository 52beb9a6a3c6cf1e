"""TLS contexts of the nodes: only certificates of the cluster's own CA are trusted.

Host names are not compared. A certificate names its node and cluster, which the handshake above TLS
compares (wire/peer/hello.py).
"""

import ssl
from pathlib import Path


class UnusableCertificate(Exception):
    """A file cannot be read, is not PEM, or does not fit the others. The text tells which."""


def peer_tls_contexts(
    ca: Path, certificate: Path, key: Path
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts for accepting and for dialling. Blocking: reads the files. Raises
    UnusableCertificate."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Nodes keep their connections for days: session tickets are of no use.
    server.num_tickets = 0
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    for context in (server, client):
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        _load(context, ca, certificate, key)
    return server, client


def _load(context: ssl.SSLContext, ca: Path, certificate: Path, key: Path) -> None:
    try:
        context.load_verify_locations(cafile=ca)
    except (OSError, ValueError) as error:
        raise UnusableCertificate(f"the CA file {ca} cannot be used: {error}") from None
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        raise UnusableCertificate(
            f"the certificate {certificate} with the key {key} cannot be used: {error}"
        ) from None
