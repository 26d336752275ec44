"""The pages, one module each: `router` returns what a page answers to."""
