"""`duolog cluster certs`: writes files by which the nodes of a cluster authenticate each other."""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from duolog.app.certificates import Authority, Signed, UnusableAuthority
from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format, Row, print_rows, tell
from duolog.wire.peer.hello import is_cluster_name

_SECRET_MODE = 0o600
_PUBLIC_MODE = 0o644
_DNS_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_COLUMNS = ("node", "certificate", "key", "ca", "expires")


class NodeHosts(NamedTuple):
    node: int
    hosts: tuple[str, ...]


def certs(cluster: str, out: Path, nodes: Sequence[str], days: int, form: Format) -> None:
    if not is_cluster_name(cluster):
        raise Failure(
            f"A cluster cannot be called '{cluster}'."
            " Use at most 64 letters, digits, dots, hyphens and underscores.",
            ExitCode.USAGE,
        )
    wanted = [parse_node(text) for text in nodes]
    if len({each.node for each in wanted}) < len(wanted):
        raise Failure("A node is given twice. Give each --node once.", ExitCode.USAGE)
    now = datetime.now(UTC)
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        authority = _authority(cluster, out, now)
        rows = [_sign(authority, out, each, now, days) for each in wanted]
    except OSError as error:
        raise Failure(
            f"{error.filename or out} cannot be used: {error.strerror}."
            " Give --out a directory that can be written to.",
            ExitCode.FAILED,
        ) from None
    print_rows(rows, form, _COLUMNS)
    tell(
        "Copy to each node its certificate and key, and ca.pem; name them in its settings"
        " peer.tls.cert, peer.tls.key and peer.tls.ca.\n"
        f"Keep {out / 'ca.key'} off the nodes: who has it can add nodes to the cluster."
    )


def parse_node(text: str) -> NodeHosts:
    """Parse a node and its hosts, such as `1=host1,10.0.0.1`."""
    number, equals, names = text.partition("=")
    hosts = tuple(names.split(","))
    if not equals or not (number.isascii() and number.isdigit() and len(number) < 10):
        raise Failure(
            f"--node was given '{text}', which does not begin with a node's number."
            " For example: --node 1=host1,10.0.0.1.",
            ExitCode.USAGE,
        )
    for host in hosts:
        if not _is_host(host):
            raise Failure(
                f"--node was given '{text}', in which '{host}' is no host name or address."
                " For example: --node 1=host1,10.0.0.1.",
                ExitCode.USAGE,
            )
    return NodeHosts(int(number), hosts)


def _is_host(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return _DNS_NAME.fullmatch(text) is not None
    return True


def _authority(cluster: str, out: Path, now: datetime) -> Authority:
    """The authority in the directory, created if there is none."""
    certificate, key = out / "ca.pem", out / "ca.key"
    if not certificate.exists() and not key.exists():
        made = Authority.make(cluster, now=now)
        _write(made.signed, certificate, key)
        return made
    try:
        found = Authority.load(Signed(certificate.read_bytes(), key.read_bytes()))
    except FileNotFoundError as error:
        raise Failure(
            f"{error.filename} is missing, without which nothing can be signed."
            " Bring it back, or begin anew in another directory.",
            ExitCode.FAILED,
        ) from None
    except UnusableAuthority as error:
        raise Failure(
            f"The CA in {out} cannot be used: {error}. Begin anew in another directory.",
            ExitCode.FAILED,
        ) from None
    if found.cluster != cluster:
        raise Failure(
            f"The CA in {out} is that of cluster '{found.cluster}'."
            " Give each cluster a directory of its own.",
            ExitCode.FAILED,
        )
    if found.expires <= now:
        raise Failure(
            f"The CA in {out} has expired on {found.expires:%Y-%m-%d}."
            " Begin anew in another directory.",
            ExitCode.FAILED,
        )
    return found


def _sign(authority: Authority, out: Path, wanted: NodeHosts, now: datetime, days: int) -> Row:
    certificate, key = out / f"node-{wanted.node}.pem", out / f"node-{wanted.node}.key"
    signed = authority.sign(wanted.node, wanted.hosts, now=now, days=days)
    _write(signed, certificate, key)
    return {
        "node": wanted.node,
        "hosts": list(wanted.hosts),
        "certificate": str(certificate),
        "key": str(key),
        "ca": str(out / "ca.pem"),
        "expires": signed.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _write(signed: Signed, certificate: Path, key: Path) -> None:
    _replace(key, signed.key, _SECRET_MODE)
    _replace(certificate, signed.certificate, _PUBLIC_MODE)


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Write the file atomically. A key is never readable by others, not even while it is
    written."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    beside.replace(path)
