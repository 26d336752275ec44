"""The command line: `discreet --help`."""

from discreet.cli.main import main

__all__ = ["main"]
