"""The keys of a release's manifest: none of them is ever in the release.

The secret that authenticates it is the user's own, in a file that is made on first use; a team
shares one by naming it in `DISCREET_KEY_FILE`. A signature takes an Ed25519 key besides.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import warnings
from pathlib import Path
from typing import Any

from discreet.errors import BadInput

SHARED = "DISCREET_KEY_FILE"
NEEDS_PACKAGE = "needs the package cryptography: pip install 'discreet[sign]'"
_BYTES = 32
_KEY = re.compile(rb"\s*([0-9a-f]{%d})\s*" % (2 * _BYTES))


def key_file() -> Path:
    """Return where the secret is kept."""
    if named := os.environ.get(SHARED):
        return Path(named)
    # The specification has it that a relative path is ignored.
    config = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        return (config if config.is_absolute() else Path.home() / ".config") / "discreet" / "key"
    except RuntimeError:
        raise BadInput(f"there is no home folder for the key; name a file in {SHARED}") from None


def own_key() -> bytes | None:
    """Return the user's secret, or None where there is none yet."""
    path = key_file()
    # A team that shares a key on one machine reads it as a group.
    text = _private(path, "the key", 0o037 if os.environ.get(SHARED) else 0o077)
    if text is None:
        return None
    found = _KEY.fullmatch(text)
    if found is None:
        raise BadInput(
            f"the key {path} is damaged: it is not {2 * _BYTES} hexadecimal digits; restore it "
            "from a backup, or remove it to have a new one made"
        )
    return bytes.fromhex(found[1].decode())


def made_key() -> bytes:
    """Return the user's secret, made where there is none yet; a warning says where.

    It appears whole or not at all, so that of two processes that start at once both take the one
    that was first.
    """
    if (key := own_key()) is not None:
        return key
    path = key_file()
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        if not os.environ.get(SHARED):  # A folder of another's is not made by a typo.
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.token_hex(_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
            said = f"made a key for your releases in {path}; keep a backup"
            warnings.warn(said, stacklevel=2)
    except OSError as error:
        raise BadInput(
            f"the key {path} cannot be made: {error.strerror}; name another file in {SHARED}"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            new.unlink()
    key = own_key()
    assert key is not None
    return key


def key_id(secret: bytes) -> str:
    """Name a secret without telling it."""
    return hashlib.sha256(secret).hexdigest()[:16]


def _private(path: Path, what: str, forbidden: int) -> bytes | None:
    """Read a small file that only some may read; None where there is none."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise BadInput(f"{what} {path} is not a file")
        if os.name != "nt" and found.st_mode & forbidden:
            right = f"{0o600 | 0o040 & ~forbidden:o}"
            raise BadInput(f"{what} {path} is open to others; close it with: chmod {right} {path}")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"{what} {path} cannot be read: {error.strerror}") from None


# Signatures


def private_key(path: str | Path) -> Any:
    """Read the Ed25519 key that signs, or say what is wrong with it."""
    _need_package("--sign")
    text = _private(Path(path), "the signing key", 0o077)
    if text is None:
        raise BadInput(f"the signing key {path} does not exist")
    try:
        key = _from_pem(text, "private", password=None)
    except TypeError:
        raise BadInput(f"the signing key {path} has a passphrase; give one without") from None
    if key is None:
        raise BadInput(
            f"{path} is not an Ed25519 private key in PEM; make one with: "
            "openssl genpkey -algorithm ed25519 -out signing.pem"
        )
    return key


def public_key(path: str | Path) -> bytes:
    """Read an Ed25519 public key: its 32 bytes."""
    _need_package("--public-key")
    try:
        key = _from_pem(Path(path).read_bytes(), "public")
    except OSError as error:
        raise BadInput(f"the public key {path} cannot be read: {error.strerror}") from None
    if key is None:
        raise BadInput(
            f"{path} is not an Ed25519 public key in PEM; take one from a private key with: "
            "openssl pkey -in signing.pem -pubout -out signing.pub"
        )
    return bytes(key.public_bytes_raw())


def _need_package(option: str) -> None:
    try:
        import cryptography.hazmat.primitives.serialization  # noqa: F401
    except ImportError:
        raise BadInput(f"{option} {NEEDS_PACKAGE}") from None


def _from_pem(text: bytes, half: str, **more: Any) -> Any:
    """Read a private or public Ed25519 key; None where it is none."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    try:
        key = getattr(serialization, f"load_pem_{half}_key")(text, **more)
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, getattr(ed25519, f"Ed25519{half.title()}Key")) else None


def is_signed(content: bytes, signature: bytes, key: bytes) -> bool | None:
    """Tell whether a signature is of a public key; None where the package is missing."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        return None
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True
