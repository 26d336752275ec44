"""What makes the site out of the pages and the code: ``python -m docs.build``."""
