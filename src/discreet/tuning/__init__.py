"""Search: the best releases of a table, by risk and loss, found by trying."""
