from tests.friction.run import write_pages

write_pages()
