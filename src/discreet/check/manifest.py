"""The manifest of a release: name, size, hash and mode of every file, authenticated by a key.

`internal/manifest.json` lists the files of both halves but itself, with an HMAC-SHA256 by the
secret of the key store. A release that is signed also has `public/manifest.json`, which lists the
public files only, and beside each manifest its Ed25519 signature, `manifest.sig`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from discreet.check.findings import Finding
from discreet.check.keys import key_file, key_id, made_key, own_key, private_key
from discreet.table.signatures import FORMATS

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
AUTHENTIC = "the manifest of all files is authentic"
ANOTHER_KEY = "another key"  # How the detail begins where it cannot be told.
# Files that a release can have; the table's name is its own.
_PUBLIC = r"confidential\.[\w.]+|codebook\.md|report\.html|manifest\.(json|sig)"
_INTERNAL = (
    r"README\.txt|recipe\.toml|(pseudonyms|project)\.key|plan\.json|plan[-\d]+\.parquet|log\.json|"
    r"rows\.parquet(/part-\d+\.parquet)?|schema\.arrow|check\.json|assessment\.json|report\.html|"
    r"holdout\.parquet|manifest\.(json|sig)"
)
# What others may do with files and folders at most.
_LIMITS = {"public": (0o644, 0o755), "internal": (0o600, 0o700)}


class Entry(BaseModel):
    """What a file is; without a mode where the file system keeps none."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    size: int
    sha256: str
    mode: Annotated[str, Field(pattern="^0[0-7]{3}$")] | None = None


class Listing(BaseModel):
    """The files of a release: those of its public half, by their names there."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    release: str
    files: dict[str, Entry]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest in a folder; a ValueError says what is wrong with it."""
        path = folder / MANIFEST
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            said = "a release of an earlier version has none: protect the table again"
            raise ValueError(f"{MANIFEST} is missing; {said}") from None
        except OSError as error:
            raise ValueError(f"{MANIFEST} cannot be read: {error.strerror}") from None
        try:
            found = cls.model_validate_json(content)
        except ValueError:
            raise ValueError(f"{MANIFEST} is damaged") from None
        # There is one way to write it: no name twice, and nothing beside the content.
        if found.content != content:
            raise ValueError(f"{MANIFEST} is not as it was written")
        return found

    @property
    def content(self) -> bytes:
        """The manifest as it is written."""
        said = self.model_dump(exclude_none=True)
        return json.dumps(said, indent=1, sort_keys=True).encode() + b"\n"


class Manifest(Listing):
    """The files of both halves: `public/...` and `internal/...`."""

    # The public key, where the release is signed.
    signer: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    key: str  # which secret made the code
    mac: str

    def wanted(self, part: str) -> dict[str, Entry]:
        """Return what it lists of a half, or of a file or folder there."""
        return {n: entry for n, entry in self.files.items() if f"{n}/".startswith(f"{part}/")}

    def edited(self, internal: Path) -> str | None:
        """Say where the files of an internal folder are not those that it lists, if they are not.

        Of its own files the code and the signature tell that.
        """
        names = (MANIFEST, SIGNATURE) if self.signer else (MANIFEST,)
        own = dict.fromkeys(f"internal/{name}" for name in names)
        there = dict(under("internal", internal))
        return differing("internal", self.wanted("internal") | own, there)

    def code(self, secret: bytes) -> str:
        """Return the authentication code of what the manifest says."""
        said = self.model_dump(exclude={"key", "mac"}, exclude_none=True)
        canonical = json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
        return hmac.new(secret, canonical, hashlib.sha256).hexdigest()

    def authentic(self, release: str) -> Finding:
        """Find out whether the user's secret made it, for the release of a log."""
        secret = own_key()
        if secret is None:
            said = (
                f"{ANOTHER_KEY}: it was made with key {self.key}, and {key_file()} does not exist"
            )
            return Finding(AUTHENTIC, "not verifiable", said)
        mine = key_id(secret)
        same = hmac.compare_digest(self.code(secret).encode(), self.mac.encode())
        if not same and self.key != mine:
            said = f"{ANOTHER_KEY}: it was made with key {self.key}, and yours is {mine}"
            return Finding(AUTHENTIC, "not verifiable", said)
        if not same or self.key != mine:
            return Finding(AUTHENTIC, "broken", "it was edited: its code is not that of your key")
        if self.release != release:
            said = f"it is the manifest of release {self.release}, not of {release}"
            return Finding(AUTHENTIC, "broken", said)
        return Finding(AUTHENTIC, "verified", f"its code is that of your key {mine}")


@dataclass(frozen=True)
class Seal:
    """What authenticates a release: the user's secret, and a private key where it is signed."""

    secret: bytes = field(repr=False)
    private: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, sign: str | Path | None = None) -> Seal:
        """Get the keys, or refuse before any work is done."""
        return cls(made_key(), None if sign is None else private_key(sign))

    def put(
        self, part: Path, release: str, known: Mapping[str, Entry] | None = None
    ) -> dict[str, Entry]:
        """Write the manifest of a folder with both halves; return what it lists.

        Files that are known are not read again.
        """
        files = entries(part, known)
        if self.private is not None:
            files = {n: entry for n, entry in files.items() if not n.startswith("public/manifest.")}
            public = {n.removeprefix("public/"): files[n] for n in files if n.startswith("public/")}
            shared = {n: entry.model_copy(update={"mode": None}) for n, entry in public.items()}
            self._write(part / "public", Listing(release=release, files=shared))
            files = entries(part, files)
        signer = None if self.private is None else self.private.public_key().public_bytes_raw()
        manifest = Manifest(
            release=release,
            files=files,
            signer=None if signer is None else signer.hex(),
            key=key_id(self.secret),
            mac="",
        )
        manifest = manifest.model_copy(update={"mac": manifest.code(self.secret)})
        self._write(part / "internal", manifest)
        return files

    def _write(self, folder: Path, manifest: Listing) -> None:
        (folder / MANIFEST).write_bytes(manifest.content)
        if self.private is not None:
            (folder / SIGNATURE).write_bytes(self.private.sign(manifest.content))
            _close(folder / SIGNATURE, folder.name)
        _close(folder / MANIFEST, folder.name)


def entries(part: Path, known: Mapping[str, Entry] | None = None) -> dict[str, Entry]:
    """List the files of both halves, and let others do no more with them than they should."""
    found = dict(known or {})
    for half in _LIMITS:
        for name, path in under(half, part / half):
            mode = _close(path, half)
            if path.is_file() and name not in found and not name.startswith("internal/manifest."):
                size, digest = path.stat().st_size, sha256(path)
                found[name] = Entry(size=size, sha256=digest, mode=mode)
    return found


def _close(path: Path, half: str) -> str | None:
    """Take away what others should not be able to do; return the mode, if there are modes."""
    limit = _LIMITS[half][path.is_dir()]
    mode = stat.S_IMODE(path.stat().st_mode) & 0o777
    if mode & ~limit:
        path.chmod(mode & limit)
        mode = stat.S_IMODE(path.stat().st_mode) & 0o777
    return None if mode & ~limit else f"{mode:04o}"


def belongs_to(internal: Path, table: Path, unchanged: bool = True) -> bool:
    """Tell whether an internal folder is that of a released file, by its name and its hash."""
    try:
        known = Manifest.read(internal).files[printable(f"public/{table.name}")]
        return not unchanged or sha256(table) == known.sha256
    except (OSError, ValueError, KeyError):
        return False


def is_internal(folder: Path) -> bool:
    """Tell whether a folder is the internal one of some release, by its manifest."""
    try:
        Manifest.read(folder)
    except ValueError:
        return False
    return True


def sha256(path: Path) -> str:
    """Hash a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def under(name: str, place: Path) -> Iterator[tuple[str, Path]]:
    """Return a file, or a folder and all that is under it, by the names of a manifest.

    Links are not followed.
    """
    yield printable(name), place
    if place.is_dir():
        for folder, folders, files in os.walk(place, onerror=_raise):
            for one in (*folders, *files):
                path = Path(folder, one)
                yield printable(f"{name}/{path.relative_to(place).as_posix()}"), path


def printable(name: str) -> str:
    """Escape a name that a terminal should not be shown."""
    return name if name.isprintable() else ascii(name)[1:-1]


def _raise(error: OSError) -> None:
    raise error


def differing(
    half: str, wanted: Mapping[str, Entry | None], there: Mapping[str, Path], table: str = ""
) -> str | None:
    """Say where the files of a half differ from what a manifest lists of them, if they do.

    A file without an entry only has to be there.
    """
    known = _INTERNAL
    if half == "public":
        tables = re.escape(printable(table))
        if table.startswith("table."):
            tables += rf"|table\.({'|'.join(map(re.escape, FORMATS.values()))})"
        known = rf"{_PUBLIC}|({tables})(/part-\d+\.parquet)?"
    named = re.compile(f"{half}/({known})")
    folders = {half, *(name.rpartition("/")[0] for name in wanted)}
    # Where the file system keeps no modes, there is nothing to compare.
    modes = os.name != "nt" and all(entry is None or entry.mode for entry in wanted.values())
    problems = [f"{name} is missing" for name in wanted if name not in there]
    for name, path in sorted(there.items()):
        found, entry = path.lstat(), wanted.get(name)
        is_folder = stat.S_ISDIR(found.st_mode)
        if not is_folder and not stat.S_ISREG(found.st_mode):
            problems.append(f"{name} is a link or the like")
        elif name not in folders if is_folder else not (name in wanted and named.fullmatch(name)):
            problems.append(f"{name} does not belong to the release")
        elif entry and (found.st_size != entry.size or sha256(path) != entry.sha256):
            problems.append(f"the hash of {name} differs")
        elif modes and (problem := _too_open(name, found, half, entry)):
            problems.append(problem)
    if len(problems) > 1:
        return f"{problems[0]}, and {len(problems) - 1} more"
    return problems[0] if problems else None


def _too_open(name: str, found: os.stat_result, half: str, entry: Entry | None) -> str | None:
    """Say that others can do more with a file or folder than when it was written."""
    is_folder = stat.S_ISDIR(found.st_mode)
    # Folders inherit other bits.
    mode = stat.S_IMODE(found.st_mode) & (0o777 if is_folder else 0o7777)
    limit = _LIMITS[half][is_folder]
    if entry is not None and entry.mode is not None:
        # Whoever shares a file lets others read it.
        limit &= int(entry.mode, 8) | (0o444 if half == "public" else 0)
    return f"{name} has mode {mode:04o}, at most {limit:04o} is right" if mode & ~limit else None
