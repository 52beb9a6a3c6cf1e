"""A cluster's CA and what its nodes need of it, as files in a directory."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from duolog.adapters.network import TlsNetwork
from duolog.adapters.tls_contexts import peer_tls_contexts
from duolog.app.certificates import Authority


class ClusterCertificates:
    def __init__(self, directory: Path, cluster: str = "testing") -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._authority = Authority.make(cluster, now=datetime.now(UTC))
        self.ca = directory / "ca.pem"
        self.ca.write_bytes(self._authority.signed.certificate)

    def files(self, node: int, *, days_ago: int = 0, days: int = 30) -> tuple[Path, Path]:
        """Certificate and key of a node."""
        made = datetime.now(UTC) - timedelta(days=days_ago)
        signed = self._authority.sign(node, ["localhost", "127.0.0.1"], now=made, days=days)
        certificate = self._directory / f"node-{node}.pem"
        key = self._directory / f"node-{node}.key"
        certificate.write_bytes(signed.certificate)
        key.write_bytes(signed.key)
        return certificate, key

    def contexts(
        self, node: int, *, days_ago: int = 0, days: int = 30
    ) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        return peer_tls_contexts(self.ca, *self.files(node, days_ago=days_ago, days=days))

    def network(self, node: int) -> TlsNetwork:
        return TlsNetwork(*self.contexts(node))
