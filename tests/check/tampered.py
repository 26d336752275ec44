"""A release to tamper with, and what the check says of it."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet import check_release
from discreet.check.folders import find_release

MANIFEST = "the manifest of all files is authentic"
FILE = "the released file is the one that was written"
PROOF = "plan, recipe, row map and whatever else is kept are those that were written"
SIGNED = "the manifest of all files is signed"
PUBLIC = "the public files are those that were signed"
EDITED = "it was edited: its code is not that of your key"
RECIPE = {
    "roles": {"identifiers": ["name"], "confidential": ["pay"], "insensitive": ["town"]},
    "steps": [{"method": "oma", "columns": ["pay"], "k": 5}],
}


def people(first: int) -> pa.Table:
    names = [f"Person {first + i}" for i in range(60)]
    return pa.table({"name": names, "town": ["A", "B"] * 30, "pay": np.arange(60) ** 2 + first})


def signing_key(path: Path) -> Path:
    key = Ed25519PrivateKey.generate()
    pem, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(pem, kind, serialization.NoEncryption()))
    path.chmod(0o600)
    shared = serialization.PublicFormat.SubjectPublicKeyInfo
    path.with_suffix(".pub").write_bytes(key.public_key().public_bytes(pem, shared))
    return path


@dataclass
class Place:
    """A release to tamper with; beside it the raw table, and other releases of the same key."""

    folder: Path

    @property
    def release(self):
        return self.folder / "release"

    @property
    def public(self):
        return self.release / "public"

    @property
    def internal(self):
        return self.release / "internal"

    @property
    def former(self):
        return self.folder / "former"

    @property
    def another(self):
        return self.folder / "another"

    def edit(self, name, change):
        """Edit a JSON file; what was kept of the rest is written as it was."""
        content = json.loads((self.release / name).read_text("utf-8"))
        change(content)
        text = json.dumps(content, indent=1, sort_keys="manifest" in name)
        (self.release / name).write_text(text + "\n", "utf-8")

    def entry(self, name):
        content = (self.release / name).read_bytes()
        size, digest = len(content), hashlib.sha256(content).hexdigest()
        return {"size": size, "sha256": digest, "mode": "0644"}

    def check(self, **more):
        table, internal = find_release(self.release)
        report = check_release(table, internal / "recipe.toml", internal, **more)
        return {one.promise: (one.status, one.detail) for one in report.findings}


def strange(name: str) -> str:
    return f"{name} does not belong to the release"
