"""Signatures: whether the files of a release are those that the owner of a key signed.

A signature is of the bytes of a manifest. Whoever has the public half only verifies that by
`public/manifest.json`, without any secret.
"""

from __future__ import annotations

from pathlib import Path

from discreet.check.findings import Finding, finding
from discreet.check.keys import NEEDS_PACKAGE, is_signed, public_key
from discreet.check.manifest import MANIFEST, SIGNATURE, Entry, Listing, Manifest, differing, under

PUBLIC = "the public files are those that were signed"
INTERNAL = "the manifest of all files is signed"


def signatures(
    table: Path | None, internal: Path | None, key: str | Path | None, authentic: bool = False
) -> list[Finding]:
    """Verify the signatures of a release by a public key.

    Without one, the key is the one that the manifest of all files names, provided that this is
    authentic; there are no findings where it names none.
    """
    given = None if key is None else public_key(key)
    findings = []
    if given is not None and table is None:
        needs = "needs the file, not a table in memory"
        findings.append(Finding(PUBLIC, "not verifiable", needs))
    elif given is not None and table is not None:
        findings.append(_public(table, given))
    if internal is not None:
        findings += _internal(internal, given, authentic)
    return findings


def _public(table: Path, key: bytes) -> Finding:
    """Verify the public half: its signature, and its files by the manifest that is signed."""
    folder = table.parent.resolve()
    try:
        listing = Listing.read(folder)
    except ValueError as error:
        return Finding(PUBLIC, "broken", f"it is not signed: {error}")
    signed = _signed(PUBLIC, folder, listing, key)
    if signed.status != "verified":
        return signed
    wanted: dict[str, Entry | None]
    wanted = {f"public/{name}": entry for name, entry in listing.files.items()}
    wanted |= dict.fromkeys((f"public/{MANIFEST}", f"public/{SIGNATURE}"))
    problem = differing("public", wanted, dict(under("public", folder)), table.name)
    return finding(PUBLIC, problem, signed.detail)


def _internal(folder: Path, given: bytes | None, authentic: bool) -> list[Finding]:
    """Verify the signature of the manifest of all files."""
    try:
        manifest = Manifest.read(folder)
    except ValueError:
        return []  # The check tells that already.
    if given is None:
        if manifest.signer is None:
            return []
        if not authentic:
            needs = "needs the public key of whoever signed it"
            return [Finding(INTERNAL, "not verifiable", needs)]
        given = bytes.fromhex(manifest.signer)
    return [_signed(INTERNAL, folder, manifest, given)]


def _signed(promise: str, folder: Path, manifest: Listing, key: bytes) -> Finding:
    try:
        signature = (folder / SIGNATURE).read_bytes()
    except OSError as error:
        return Finding(promise, "broken", f"it is not signed: {SIGNATURE}: {error.strerror}")
    good = is_signed(manifest.content, signature, key)
    if good is None:
        return Finding(promise, "not verifiable", NEEDS_PACKAGE)
    named = key.hex()[:16]
    problem = None if good else f"the signature is not that of the public key {named}"
    return finding(promise, problem, f"release {manifest.release}, signed with {named}")
