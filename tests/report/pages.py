"""Reading pages as a browser does, without one."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Tags with their attributes, ids, the text that is shown, and what is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.headings: list[str] = []
        self.words: list[str] = []
        self.unclosed: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        if "id" in given:
            self.ids.append(given["id"])
        if tag not in VOID:
            self.unclosed.append(tag)
        if tag in ("h1", "h2", "h3"):
            self.headings.append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.unclosed.pop()

    def handle_endtag(self, tag):
        assert self.unclosed[-1:] == [tag], (tag, self.unclosed[-4:])
        self.unclosed.pop()

    def handle_data(self, data):
        if "style" in self.unclosed:
            return
        self.words.append(data)
        if self.unclosed and self.unclosed[-1] in ("h1", "h2", "h3", "small"):
            self.headings[-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def is_self_contained(html: str) -> Page:
    """Check that a page needs nothing else, runs nothing, and is whole."""
    page = Page(html)
    assert page.unclosed == []
    assert page.count("script") == page.count("iframe") == page.count("link") == 0
    for tag, given in page.tags:
        for name, value in given.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "src", "xlink:href", "action", "data"):
                assert value.startswith("#"), (tag, value)
    ids = set(page.ids)
    assert len(ids) == len(page.ids), "ids are not unique"
    links = [given["href"][1:] for tag, given in page.tags if "href" in given]
    assert set(links) <= ids
    assert page.count("figure") == page.count("figcaption")
    pictures = [given for tag, given in page.tags if tag == "svg"]
    assert len(pictures) == page.count("figure")
    assert all(given["role"] == "img" for given in pictures)
    for given in pictures:
        assert set(given["aria-labelledby"].split()) <= ids
    assert "url(http" not in html
    assert "@import" not in html
    return page


def marks(svg: str, tag: str) -> list[dict[str, str]]:
    """Return the attributes of a picture's marks of one kind, with their text."""
    found = [e for e in ElementTree.fromstring(svg).iter() if e.tag.rpartition("}")[2] == tag]
    return [{**element.attrib, "text": element.text or ""} for element in found]


def walked(path: str) -> list[list[tuple[float, float]]]:
    """Return the points that the parts of a path go through."""
    parts: list[list[tuple[float, float]]] = []
    x = y = 0.0
    for command, rest in re.findall(r"([MLHV])([^MLHVz]*)", path):
        numbers = [float(one) for one in rest.split()]
        if command in "ML":
            x, y = numbers
        elif command == "H":
            (x,) = numbers
        else:
            (y,) = numbers
        if command == "M":
            parts.append([])
        parts[-1].append((x, y))
    return parts
