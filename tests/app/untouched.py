"""What a browser sends of a form that nobody has touched."""

from html.parser import HTMLParser


class _Forms(HTMLParser):
    """Reads the forms of a page, each with the fields that would be sent."""

    def __init__(self):
        super().__init__()
        self.forms = []
        self.select = self.first = None

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            self.forms.append((given.get("hx-post"), {}))
        elif tag == "input":
            self._input(given)
        elif tag == "select":
            self.select, self.first = given["name"], True
        elif tag == "option" and (self.first or "selected" in given):
            self.forms[-1][1][self.select] = [given.get("value")]
            self.first = False

    def _input(self, given):
        kind, name = given.get("type", "text"), given.get("name")
        if name is None or (kind == "checkbox" and "checked" not in given):
            return
        value = given.get("value", "on")
        # A field of one line has no other.
        value = value.replace("\n", "") if kind == "text" else value
        self.forms[-1][1].setdefault(name, []).append(value)

    def handle_data(self, text):
        # An option without a value sends its text.
        sent = self.forms[-1][1] if self.forms else {}
        if self.select and sent.get(self.select) == [None]:
            sent[self.select] = [" ".join(text.split())]

    def handle_endtag(self, tag):
        self.select = None if tag == "select" else self.select


def untouched(html, path):
    """Return what is sent to a path by the first form that goes there."""
    reader = _Forms()
    reader.feed(html)
    return next(fields for to, fields in reader.forms if to == path)
