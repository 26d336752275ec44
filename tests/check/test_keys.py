"""The key store: made once, private, and refused in one sentence where it is not."""

import os
import re
import stat
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import discreet
from discreet.check.keys import key_file, made_key, own_key
from discreet.errors import BadInput

pytestmark = pytest.mark.filterwarnings("ignore:made a key")
RECIPE = {
    "roles": {"confidential": ["pay"]},
    "steps": [{"method": "oma", "columns": ["pay"], "k": 5}],
}
as_another_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user without a key."""
    monkeypatch.delenv("DISCREET_KEY_FILE")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def release():
    return discreet.protect(pa.table({"pay": list(range(20))}), RECIPE)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_made_by_the_first_release_that_is_saved(home, release):
    path = home / ".config" / "discreet" / "key"
    assert key_file() == path
    assert own_key() is None
    assert not path.exists()
    release.save(home / "one")
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert re.fullmatch(r"[0-9a-f]{64}\n", path.read_text())
    before = path.read_bytes()
    release.save(home / "two")
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["key"]


def test_its_making_is_told_once_and_not_in_the_log(home, run, monkeypatch):
    (home / "in.csv").write_text("pay\n" + "".join(f"{i}\n" for i in range(20)))
    (home / "recipe.toml").write_text(
        "[roles]\nconfidential = ['pay']\n[[steps]]\nmethod = 'oma'\ncolumns = ['pay']\nk = 5\n"
    )
    monkeypatch.chdir(home)
    # The command prints warnings in a way of its own; what comes after has the usual one.
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    protect = ("protect", "in.csv", "--recipe", "recipe.toml", "--out")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        errors = [run(*protect, name)[2] for name in ("one", "two")]
    said = f"made a key for your releases in {key_file()}; keep a backup"
    assert errors == [f"discreet: warning: {said}\n", ""]
    for page in (home / "one").rglob("*"):
        assert not page.is_file() or str(key_file()).encode() not in page.read_bytes()


def test_where_it_is(home, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "settings"))
    assert key_file() == home / "settings" / "discreet" / "key"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert key_file() == home / ".config" / "discreet" / "key"
    monkeypatch.setenv("DISCREET_KEY_FILE", str(home / "team"))
    assert made_key() == bytes.fromhex((home / "team").read_text())


def test_a_team_reads_a_key_as_a_group(home, monkeypatch):
    key = made_key()
    key_file().chmod(0o640)
    with pytest.raises(BadInput, match=r"is open to others; close it with: chmod 600 /"):
        own_key()
    monkeypatch.setenv("DISCREET_KEY_FILE", str(key_file()))
    assert own_key() == key
    key_file().chmod(0o644)
    with pytest.raises(BadInput, match=r"is open to others; close it with: chmod 640 /"):
        own_key()


@pytest.mark.parametrize("text", ["", "ab", "xy" * 32, "ab" * 33, "ab" * 16 + "\n" + "ab" * 16])
def test_a_damaged_key(home, text, release):
    made_key()
    key_file().write_text(text)
    with pytest.raises(BadInput, match="is damaged: it is not 64 hexadecimal digits; restore it"):
        release.save(home / "out")
    assert not (home / "out").exists()


def test_a_key_that_is_no_file(home):
    key_file().mkdir(parents=True)
    with pytest.raises(BadInput, match=r"the key .*/key is not a file"):
        own_key()


def test_a_key_that_cannot_be_made(home, monkeypatch, release):
    (home / ".config").write_text("a file where a folder should be")
    with pytest.raises(BadInput, match=r"the key .* cannot be (read|made): Not a directory"):
        release.save(home / "out")
    monkeypatch.setenv("DISCREET_KEY_FILE", str(home / "tean" / "key"))
    with pytest.raises(
        BadInput, match="cannot be made: No such file or directory; name another file in DISCREET"
    ):
        release.save(home / "out")
    assert not (home / "tean").exists()


@as_another_user
def test_a_folder_that_cannot_be_written(home):
    (home / ".config").mkdir(mode=0o500)
    with pytest.raises(BadInput, match="cannot be made: Permission denied; name another file in"):
        made_key()


def test_it_is_refused_before_any_work(home, run, monkeypatch):
    (home / "in.csv").write_text("pay\n" + "".join(f"{i}\n" for i in range(20)))
    (home / "recipe.toml").write_text(
        "[roles]\nconfidential = ['pay']\n[[steps]]\nmethod = 'oma'\ncolumns = ['pay']\nk = 5\n"
    )
    monkeypatch.chdir(home)
    monkeypatch.setattr("discreet.flow.protection.prepare", None)
    made_key()
    key_file().write_text("")
    for more in ([], ["--sign", "none.pem"]):
        code, out, err = run("protect", "in.csv", "--recipe", "recipe.toml", "--out", "out", *more)
        assert (code, out) == (2, "")
        assert err.startswith("discreet: the key ")
        assert err.count("\n") == 1
    assert sorted(p.name for p in home.iterdir()) == [".config", "in.csv", "recipe.toml"]


def test_processes_that_start_at_once_agree(home):
    answers, tell = os.pipe()
    processes = []
    for _ in range(8):
        if (process := os.fork()) == 0:
            try:
                os.write(tell, made_key())
            finally:
                os._exit(0)
        processes.append(process)
    for process in processes:
        os.waitpid(process, 0)
    assert os.read(answers, 1000) == 8 * own_key()
    assert [p.name for p in key_file().parent.iterdir()] == ["key"]


def test_threads_that_start_at_once_agree(home):
    with ThreadPoolExecutor(16) as pool:
        keys = {one.result() for one in [pool.submit(made_key) for _ in range(64)]}
    assert keys == {own_key()}


# Keys that sign


def pem(path, key, password=None):
    how = (
        serialization.NoEncryption()
        if password is None
        else serialization.BestAvailableEncryption(password)
    )
    kind = serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, kind, how))
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: p / "none.pem", r"the signing key .*none.pem does not exist"),
        (lambda p: pem(p / "k.pem", ec.generate_private_key(ec.SECP256R1())), "is not an Ed25519 pr"),
        (lambda p: pem(p / "k.pem", Ed25519PrivateKey.generate(), b"word"), "has a passphrase; give"),
        (lambda p: p, "the signing key .* is not a file"),
    ],
)  # fmt: skip
def test_a_key_that_cannot_sign(tmp_path, release, make, said):
    with pytest.raises(BadInput, match=said):
        release.save(tmp_path / "out", sign=make(tmp_path))
    assert not (tmp_path / "out").exists()


def test_a_key_that_others_can_read_does_not_sign(tmp_path, release):
    path = pem(tmp_path / "k.pem", Ed25519PrivateKey.generate())
    path.chmod(0o644)
    with pytest.raises(BadInput, match=r"the signing key .* is open to others; close it"):
        release.save(tmp_path / "out", sign=path)


def test_a_file_alone_is_not_signed(tmp_path, release):
    path = pem(tmp_path / "k.pem", Ed25519PrivateKey.generate())
    with pytest.raises(
        BadInput, match=r"a release that is signed is a folder; give one instead of"
    ):
        release.save(tmp_path / "out.csv", sign=path)


def test_a_public_key_that_is_none(tmp_path, release, run):
    release.save(tmp_path / "out")
    (tmp_path / "k.pub").write_text("ssh-ed25519 AAAA")
    code, _, err = run("check", tmp_path / "out", "--public-key", tmp_path / "k.pub")
    assert code == 2
    assert "k.pub is not an Ed25519 public key in PEM; take one from a private key with: " in err
    code, _, err = run("check", tmp_path / "out", "--public-key", tmp_path / "none")
    assert (code, err.count("\n")) == (2, 1)


def test_signing_takes_a_package(tmp_path, release, monkeypatch, run):
    path = pem(tmp_path / "k.pem", Ed25519PrivateKey.generate())
    release.save(tmp_path / "signed", sign=path)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for module in [name for name in sys.modules if name.startswith("cryptography.")]:
        monkeypatch.setitem(sys.modules, module, None)
    needs = r"needs the package cryptography: pip install 'discreet\[sign\]'"
    with pytest.raises(BadInput, match=f"--sign {needs}"):
        release.save(tmp_path / "out", sign=path)
    code, out, _ = run("check", tmp_path / "signed", "--json")
    assert code == 0
    assert re.search(needs, out)
    code, _, err = run("check", tmp_path / "signed", "--public-key", path)
    assert code == 2
    assert re.search(f"--public-key {needs}", err)
