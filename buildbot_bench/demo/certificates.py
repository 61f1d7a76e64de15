"""`bench-farm certificates`: make the farm's own authority and its master's certificate."""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

AUTHORITY, MASTER, TRUST = "authority", "master", "trust"
# Chosen: machines outlive certificates, and nobody is told before one is over but by `openssl`.
AUTHORITY_DAYS, MASTER_DAYS = 20 * 365, 5 * 365
_CLOCK_SKEW = timedelta(days=1)
_HOST = re.compile(r"(?=.{1,253}$)([A-Za-z0-9][A-Za-z0-9-]{0,62}(\.(?!$)|$))+")
_NAME_BYTES = 64  # of a common name, by X.509


def make_certificates(directory: Path, hosts: Sequence[str], *, now: datetime | None = None) -> str:
    """Make a certificate for a master that workers call by these names or addresses; in words.

    An authority that is in the directory stays, and workers that trust it go on to. Keys are for
    the directory's owner alone; `trust/` is what a worker needs. UsageError when a name is none, or
    half an authority is there.
    """
    names = [_general_name(host) for host in hosts]
    begins = now or datetime.now(tz=UTC)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority, key = _authority(directory, begins)
    own = ec.generate_private_key(ec.SECP256R1())
    ends = begins + timedelta(days=MASTER_DAYS)
    certificate = (
        _begun(hosts[0], own, begins, ends)
        .issuer_name(authority.subject)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write_pair(directory, MASTER, own, certificate)
    trust = directory / TRUST
    trust.mkdir(mode=0o700, exist_ok=True)
    _write(trust / f"{AUTHORITY}.pem", authority.public_bytes(serialization.Encoding.PEM))
    return (
        f"{directory} has a certificate for {', '.join(hosts)} until {ends.date()}\n"
        f"next: start the master with BENCH_PB=ssl:9989:privateKey={directory / MASTER}.key"
        f":certKey={directory / MASTER}.pem, copy {trust} into each worker's directory,"
        f" and keep {directory / AUTHORITY}.key off both"
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    if not _HOST.fullmatch(host):
        raise UsageError(f"{quoted(host)} is no name of a machine", hint="e.g. bench.example.org")
    return x509.DNSName(host)


def _authority(
    directory: Path, begins: datetime
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key_file, file = directory / f"{AUTHORITY}.key", directory / f"{AUTHORITY}.pem"
    if key_file.exists() != file.exists():
        lacking = file if key_file.exists() else key_file
        raise UsageError(
            f"there is no {lacking}", hint="put it back, or begin in another directory"
        )
    if file.exists():
        try:
            key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
            authority = x509.load_pem_x509_certificate(file.read_bytes())
        except ValueError as error:
            raise UsageError(
                f"{directory} holds no authority that can be read: {error}",
                hint="begin in another directory",
            ) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise UsageError(f"{key_file} is of another kind", hint="begin in another directory")
        return authority, key
    key = ec.generate_private_key(ec.SECP256R1())
    ends = begins + timedelta(days=AUTHORITY_DAYS)
    builder = _begun(f"Buildbot Bench {begins.date()}", key, begins, ends)
    authority = (
        builder.issuer_name(_name(f"Buildbot Bench {begins.date()}"))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    _write_pair(directory, AUTHORITY, key, authority)
    return authority, key


def _begun(
    subject: str, key: ec.EllipticCurvePrivateKey, begins: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins - _CLOCK_SKEW)
        .not_valid_after(ends)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:_NAME_BYTES])])


def _write_pair(
    directory: Path, name: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate
) -> None:
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write(directory / f"{name}.key", secret)
    _write(directory / f"{name}.pem", certificate.public_bytes(serialization.Encoding.PEM))


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.part")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    partial.replace(path)
