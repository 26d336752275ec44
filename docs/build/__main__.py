"""Build the site into `site/`: first its pictures, then the pages; any warning is an error."""

import sys

from mkdocs.commands.build import build
from mkdocs.config import load_config

from docs.build.pictures import make_site

make_site()
build(load_config("mkdocs.yml", strict=True))
print("site/index.html: open it in a browser; it needs no network", file=sys.stderr)
