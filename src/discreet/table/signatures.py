"""What a file is, by its first bytes, and what it should be, by its suffix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import ModuleType

from discreet.errors import BadInput, one_line

# Read and written; the name of a format is its usual suffix.
FORMATS = {
    **{f".{text}": "csv" for text in ("csv", "tsv", "txt")},
    **{f".{text}.gz": "csv.gz" for text in ("csv", "tsv", "txt")},
    **{f".{text}.zst": "csv.zst" for text in ("csv", "tsv", "txt")},
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".xlsx": "xlsx",
    ".sav": "sav",
    ".dta": "dta",
    ".xpt": "xpt",
}
READ_ONLY = {".xlsm": "xlsx", ".zsav": "sav", ".sas7bdat": "sas7bdat"}
NAMES = {
    "csv": "CSV",
    "csv.gz": "gzip",
    "csv.zst": "zstd",
    "parquet": "Parquet",
    "feather": "Feather",
    "xlsx": "an Excel workbook",
    "sav": "SPSS",
    "dta": "Stata",
    "xpt": "SAS transport",
    "sas7bdat": "SAS",
}
_SIGNATURES = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "feather"),
    (b"FEA1", "feather"),
    (b"PK\x03\x04", "xlsx"),
    (b"\xd0\xcf\x11\xe0", "ole"),
    (b"$FL2", "sav"),
    (b"$FL3", "sav"),
    (b"<stata_dta>", "dta"),
    (b"HEADER RECORD*******", "xpt"),
    (b"\x00" * 12 + b"\xc2\xea\x81\x60", "sas7bdat"),
    (b"\x1f\x8b", "csv.gz"),
    (b"\x28\xb5\x2f\xfd", "csv.zst"),
    (b"%PDF", "pdf"),
)
_OLD_STATA = (0x69, 0x6C, 0x6E, 0x6F, 0x71, 0x72, 0x73)
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def suffix_of(path: Path) -> str:
    """Return a path's suffix, including both parts of `.csv.gz`.

    Examples
    --------
    >>> suffix_of(Path("people.2024.csv.gz")), suffix_of(Path("people.2024.csv"))
    ('.csv.gz', '.csv')
    """
    both = "".join(path.suffixes[-2:]).lower()
    return both if both in FORMATS else path.suffix.lower()


def check_path(path: Path) -> None:
    """Refuse a path that is neither a file nor a folder: reading a pipe could wait for ever."""
    check_name(path)
    try:
        if not path.exists():
            why = "is a link that leads nowhere" if path.is_symlink() else "does not exist"
            raise BadInput(f"{path} {why}")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    if not path.is_dir() and not path.is_file():
        raise BadInput(f"{path} is not a file")


def check_name(path: Path) -> None:
    """Refuse a path that Arrow cannot open: its bytes are not UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise BadInput(f"the path {str(path)!r} is not valid UTF-8; rename it") from None


@contextmanager
def reading_as(path: Path, format: str) -> Iterator[None]:
    """Report a damaged file in one sentence: libraries fail on one in many ways."""
    try:
        yield
    except (BadInput, MemoryError):  # Less memory than it takes is no damage.
        raise
    except Exception as error:
        why = one_line(error).replace(str(path), path.name)
        raise BadInput(f"{path} cannot be read as {NAMES[format]}: {why}") from None


def check_content(path: Path, format: str) -> None:
    """Refuse a file that is not what its suffix says, and say what it is."""
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    found = next((name for sign, name in _SIGNATURES if start.startswith(sign)), None)
    if len(start) > 3 and start[0] in _OLD_STATA and start[1] in (1, 2) and start[2:4] == b"\1\0":
        found = "dta"
    if found == "ole":
        raise BadInput(_say_ole(path))
    if found == "pdf":
        raise BadInput(f"{path} is a PDF document, not a table; export the table it was made from")
    # SPSS and compressed files begin as nothing else does; text may begin with anything.
    if found == format or (found is None and format == "csv"):
        return
    if not start:
        raise BadInput(f"{path} is empty")
    wanted = NAMES[format]
    if found is None:
        raise BadInput(
            f"{path} is not {wanted}, though its suffix says so; if it is text, rename it to .csv"
        )
    if found == "xlsx" and format != "xlsx":
        raise BadInput(
            f"{path} is an Excel workbook or another zip archive, not {wanted}; rename or unpack it"
        )
    raise BadInput(f"{path} is {NAMES[found]}, not {wanted}; rename it to .{found}")


def _say_ole(path: Path) -> str:
    # Mapped, since the file may be larger than the memory.
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        encrypted = content.find(_ENCRYPTED) >= 0
    if encrypted:
        return f"{path} is protected by a password; save a copy without one in Excel"
    return f"{path} is a workbook of Excel 2003 or older; save it as .xlsx in Excel"


def optional(package: str, path: Path) -> ModuleType:
    """Import a package that only some formats need, or say how to get it."""
    try:
        return import_module(package)
    except ImportError:
        raise BadInput(
            f"{path} needs the package {package}, which is not installed: "
            "pip install 'discreet[files]'"
        ) from None
