"""Compiled code (numba), and nothing but: arrays in, arrays out, no tables.

Kernels compile on their first call, never at import, and stay in numba's cache on disk. `make
setup` runs a small demonstration, so that what it needs is compiled once.
"""
