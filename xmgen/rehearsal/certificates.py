"""Keys and certificates: an authority, and what it signs for servers on this machine."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

VALID = datetime.timedelta(days=3650)
"""As long as anybody will keep a folder."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A key and the certificate for it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Unencrypted: for a file that only its owner can read."""
    # In PKCS #8, kube-apiserver does not find the public key for the tokens of service accounts.
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def authority(name: str) -> Identity:
    key = new_key()
    subject = _name(name)
    certificate = (
        _certificate(subject, key.public_key(), subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return Identity(key, certificate.sign(key, hashes.SHA256()))


def server(name: str, issuer: Identity, addresses: list[str], hosts: list[str]) -> Identity:
    """For a server at these IP addresses and host names."""
    names = [
        *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
        *(x509.DNSName(host) for host in hosts),
    ]
    return _signed(name, issuer, ExtendedKeyUsageOID.SERVER_AUTH, [x509.SubjectAlternativeName(names)])


def client(name: str, issuer: Identity) -> Identity:
    """By which a client proves who it is."""
    return _signed(name, issuer, ExtendedKeyUsageOID.CLIENT_AUTH, [])


def _signed(
    name: str, issuer: Identity, purpose: x509.ObjectIdentifier, extensions: list[x509.ExtensionType]
) -> Identity:
    key = new_key()
    certificate = (
        _certificate(_name(name), key.public_key(), issuer.certificate.subject, issuer.key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    )
    for extension in extensions:
        certificate = certificate.add_extension(extension, critical=False)
    return Identity(key, certificate.sign(issuer.key, hashes.SHA256()))


def _certificate(
    subject: x509.Name, key: ec.EllipticCurvePublicKey, issuer: x509.Name, issuer_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key,
        serial_number=x509.random_serial_number(),
        # Clocks may be set back a little.
        not_valid_before=now - datetime.timedelta(hours=1),
        not_valid_after=now + VALID,
        extensions=[
            x509.Extension(x509.SubjectKeyIdentifier.oid, False, x509.SubjectKeyIdentifier.from_public_key(key)),
            x509.Extension(
                x509.AuthorityKeyIdentifier.oid, False, x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key)
            ),
        ],
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
