"""Write the real output into pages: ``python -m tests.docs docs/tutorials/survey.md``."""

import os
import sys
import tempfile
from pathlib import Path

from tests.docs.session import pages, rerun

with tempfile.TemporaryDirectory() as kept:
    # As in the tests, no page is the first to make a key.
    key = Path(kept) / "key"
    key.write_text("1f" * 32)
    key.chmod(0o600)
    os.environ["DISCREET_KEY_FILE"] = str(key)
    for page in map(Path, sys.argv[1:]) if sys.argv[1:] else pages():
        with tempfile.TemporaryDirectory() as folder:
            text = page.read_text("utf-8")
            real = rerun(text, Path(folder))
        print(f"{page}: {'as it was' if real == text else 'written anew'}")
        page.write_text(real, "utf-8")
