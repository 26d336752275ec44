"""ARX's answers on Adult for quality models, and for an intruder who counts the cost."""

import pytest

from discreet.datasets import load_adult
from discreet.generalization import KAnonymity, Payout, Profitability
from tests.generalization.known import known, levels_of, method, sample, sampled

NAMES = {
    "loss geometric": {},
    "nue (monotonic)": {"quality": "nue-of-levels"},
    "precision (monotonic)": {"quality": "precision-of-levels"},
    # Ours takes each distinct tuple once.
    "kl-divergence": {"quality": "kl-divergence-by-record"},
}


def figures(answer):
    given = answer.parameters
    names = {"cost": "cost", "gain": "gain", "loss": "publisher_loss", "benefit": "benefit"}
    return {name: given[theirs] for name, theirs in names.items()}


def quality_of(answer):
    """Return the parameters of the quality that an answer is about."""
    if answer.quality in NAMES:
        return dict(NAMES[answer.quality])
    name, *more = answer.quality.split()
    if name == "payout":
        journalist = more == ["(journalist)"]
        return {"quality": name, "payout": Payout(**figures(answer), journalist=journalist)}
    options = {"quality": name}
    for word in more:
        if word.startswith("gs="):
            options["suppression_factor"] = float(word.removeprefix("gs="))
        else:
            options["aggregate"] = word
    return options | ({"target": answer.confidential} if name == "classification" else {})


def privacy_of(answer):
    if answer.family in ("baseline", "quality"):
        return KAnonymity(int(answer.parameters["k"]))
    people = load_adult() if answer.model.startswith("journalist") else None
    attack = "no attack" not in answer.model
    return Profitability(**figures(answer), attack=attack, population=people)


def compare(answer):
    table, options = sample(answer.subset), quality_of(answer)
    fitted = method(answer, privacy_of(answer), **options).fit(table)
    proof, ours = fitted.certificate_, levels_of(fitted, answer)
    if ours != answer.levels:
        # On a tie, ours is the first of the nodes with the smallest sum of levels.
        assert (sum(map(int, ours)), ours) < (sum(map(int, answer.levels)), answer.levels)
        options["levels"] = dict(zip(answer.columns, map(int, answer.levels), strict=True))
        fitted = method(answer, privacy_of(answer), **options).fit(table)
        assert fitted.quality_ == pytest.approx(proof.optimum, rel=1e-12, abs=1e-15)
    assert fitted.suppressed_ == answer.suppressed
    # The aggregate of ranks is a list of losses, of which the largest is the quality.
    loss = float(answer.loss.strip("[").split(",")[0])
    assert fitted.quality_ == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert proof.proven


@pytest.mark.parametrize("answer", sampled("quality", 6), ids=str)
def test_some_qualities_as_arx_has_them(answer):
    compare(answer)


@pytest.mark.parametrize("answer", sampled("profitability", 7), ids=str)
def test_some_of_an_intruder_who_counts_the_cost(answer):
    compare(answer)


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer", [*known("baseline"), *known("quality"), *known("profitability")], ids=str
)
def test_all_as_arx_has_them(answer):
    compare(answer)
