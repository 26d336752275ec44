"""Outputs of a notebook in the browser: in JupyterLab's and VS Code's colours, light and dark."""

import pytest

import discreet
from discreet.assessment.attacked import attack
from discreet.report.notebook import front_html
from tests.browser.app import AXE
from tests.browser.test_front import HANGING, PALE
from tests.report.fronts import made

# What the hosts put around an output. JupyterLab's tables are its own, with a ground in stripes.
LAB = """
.jp-RenderedHTMLCommon{color:var(--jp-content-font-color1);font-size:14px}
.jp-RenderedHTMLCommon table{border:none;margin-left:auto;margin-right:auto;table-layout:fixed}
.jp-RenderedHTMLCommon tbody tr:nth-child(odd){background:var(--jp-rendermime-table-row-background)}
.jp-RenderedHTMLCommon:not(.jp-RenderedMarkdown) td{text-align:right;white-space:nowrap}
.jp-RenderedHTMLCommon:not(.jp-RenderedMarkdown) th{text-align:right}
"""
HOSTS = {
    "lab-light": ":root{--jp-content-font-color1:#212121;--jp-rendermime-table-row-background:#f5f5f5}body{background:#fff}",
    "lab-dark": ":root{--jp-content-font-color1:#fff;--jp-rendermime-table-row-background:#212121}body{background:#111}",
    "code-dark": ":root{--vscode-editor-foreground:#d4d4d4}body{background:#1e1e1e}",
    "code-light": ":root{--vscode-editor-foreground:#333}body{background:#fff}",
    # A page of its own, which goes by what its reader likes.
    "plain-light": ":root{color-scheme:light dark}body{background:Canvas;color:CanvasText}",
    "plain-dark": ":root{color-scheme:light dark}body{background:Canvas;color:CanvasText}",
}
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>notebook</title>
<style>{style}</style></head><body><main><div class="jp-RenderedHTMLCommon jp-RenderedHTML">{shown}
</div></main></body></html>"""
ALIGNED = """[...document.querySelectorAll(".discreet-table td:not(.discreet-n), .discreet-table th:not(.discreet-n)")]
  .every(e => getComputedStyle(e).textAlign === "left")"""
SERIOUS = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations
  .filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => one.id + ": " + one.nodes.map(node => node.target.join(" ")).join("; ")))"""


@pytest.fixture(scope="module")
def outputs(hostile, tmp_path_factory):
    from tests.browser.conftest import recipe

    release = discreet.protect(hostile, recipe())
    release.save(tmp_path_factory.mktemp("release") / "out")
    other = recipe()
    other["steps"][0]["k"] = 40
    named = {"as asked": release, "<i>k = 40</i>": discreet.protect(hostile, other)}
    shown = [
        release,
        release.assess(),
        discreet.compare(hostile, named),
        discreet.sweep(hostile, recipe(), vary={"1.k": [5, 10]}, best="loss"),
        attack(hostile, release, queries=50),
        discreet.inspect(hostile),
        discreet.risk_of(hostile, recipe()["roles"]),
    ]
    fronts = [front_html(made(loss=0.6)), front_html(made(risk=0.0005))]
    return "\n".join([one._repr_html_() for one in shown] + fronts)


@pytest.mark.parametrize("host", HOSTS)
def test_every_output_can_be_read_in_every_notebook(browser, outputs, tmp_path, host):
    path = tmp_path / "notebook.html"
    path.write_text(PAGE.format(style=LAB + HOSTS[host], shown=outputs), "utf-8")
    page = browser.load(path.as_uri())
    assert [one for one in page.requests if not one.startswith("data:")] == [path.as_uri()]
    assert page.messages == []
    for width in (1100, 420):
        page.resize(width, host.rpartition("-")[2])
        assert page.evaluate(HANGING.replace(".wide", ".discreet-wide")) == []
        assert page.evaluate(PALE) == []
        assert page.evaluate(ALIGNED)
    # Loaded by hand, since the outputs have no scripts.
    page.evaluate(AXE.read_text("utf-8") + ";0")
    assert page.evaluate(SERIOUS) == []
    assert page.evaluate("document.title") == "notebook"
    page.close()
