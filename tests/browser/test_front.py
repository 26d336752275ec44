"""The page of a front in the browser: on a desk and on a phone, light and dark."""

import pytest

from discreet.report.front import front_page
from tests.report.fronts import made

HOSTILE = "<script>document.title = 'broken'</script> & $x$ "
COLUMNS = tuple(HOSTILE + "long_name_" * 20 + str(i) for i in range(60))
FRONTS = {
    "plain": made(loss=0.6),
    "one": made(1, risk=None),
    "unmet": made(risk=0.0005),
    "hostile": made(words=[f"{name} in 10-year groups" for name in COLUMNS], columns=COLUMNS),
}
# Text whose colour is too near to what is behind it, by the formula of WCAG 2.
PALE = """(() => {
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.03928 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const colour = text => { const n = text.match(/[\\d.]+/g).map(Number);
    return {rgb: n.slice(0, 3), alpha: n.length > 3 ? n[3] : 1}; };
  const behind = e => { for (; e; e = e.parentElement) {
    const c = colour(getComputedStyle(e).backgroundColor); if (c.alpha > 0.99) return c.rgb; }
    return [255, 255, 255]; };
  return [...document.querySelectorAll("body *")].filter(e => !e.closest("svg") &&
    [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).map(e => {
      const a = light(colour(getComputedStyle(e).color).rgb), b = light(behind(e));
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent.slice(0, 40)];
    }).filter(found => found[0] < 4.5);
})()"""
# What hangs out of the window, but for what scrolls by itself.
HANGING = """[...document.querySelectorAll("body *")].filter(e => !e.closest(".wide, svg") &&
  e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent.slice(0, 40))"""


@pytest.fixture(params=FRONTS)
def page(request, browser, tmp_path):
    path = tmp_path / "index.html"
    path.write_text(front_page(FRONTS[request.param]), "utf-8")
    found = browser.load(path.as_uri())
    assert found.requests == [path.as_uri()]
    assert found.messages == []
    yield found
    found.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 400])
def test_it_fits_the_window_and_can_be_read(page, width, scheme):
    page.resize(width, scheme)
    for opened in ("false", "true"):
        page.evaluate(f"document.querySelectorAll('details').forEach(d => d.open = {opened})")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(HANGING) == []
        assert page.evaluate(PALE) == []
    assert page.evaluate("document.scripts.length") == 0
    assert "broken" not in page.evaluate("document.title")


def lowest(page, selector):
    """Return where the lowest of some elements ends, from the top of the window."""
    return page.evaluate(
        f"Math.max(...[...document.querySelectorAll('{selector}')]"
        ".map(e => e.getBoundingClientRect().bottom))"
    )


def test_the_one_to_take_is_on_the_first_screen(browser, tmp_path):
    path = tmp_path / "index.html"
    path.write_text(front_page(FRONTS["plain"]), "utf-8")
    page = browser.load(path.as_uri())
    assert lowest(page, ".card.best pre") < 900
    page.resize(400)
    assert lowest(page, ".card.best .why") < 900
    page.close()


def test_letters_of_the_map_can_be_read_on_a_phone(page):
    page.resize(400)
    height = page.evaluate(
        "Math.min(...[...document.querySelectorAll('svg text')]"
        ".map(t => t.getBoundingClientRect().height))"
    )
    assert height > 9
    outside = page.evaluate("""[...document.querySelectorAll("svg")].flatMap(svg => {
      const box = svg.getBoundingClientRect();
      return [...svg.querySelectorAll("text")].filter(text => {
        const own = text.getBoundingClientRect();
        return own.left < box.left - 1 || own.right > box.right + 1
          || own.top < box.top - 1 || own.bottom > box.bottom + 1;
      }).map(text => text.textContent);
    })""")
    assert outside == []


def test_details_open_with_the_keyboard_alone(page):
    tags = page.evaluate(
        "[...document.querySelectorAll('details')].map(d => d.firstElementChild.tagName)"
    )
    assert set(tags) == {"SUMMARY"}
    heads = page.evaluate("[...document.querySelectorAll('th')].every(t => t.scope)")
    assert heads
