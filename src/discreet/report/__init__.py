"""Pages that people read: pictures and HTML, made of plain dictionaries."""
