"""ARX's answers on Adult for quality models, and for an intruder who counts the cost."""

import pytest

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
        return NAMES[answer.quality]
    name, *more = answer.quality.split()
    if name == "payout":
        return {"quality": name, "payout": Payout(**figures(answer))}
    options = {"quality": name}
    for word in more:
        if word.startswith("gs="):
            options["suppression_factor"] = float(word.removeprefix("gs="))
        else:
            options["aggregate"] = word
    return options | ({"target": answer.confidential} if name == "classification" else {})


def privacy_of(answer):
    if answer.family == "quality":
        return KAnonymity(int(answer.parameters["k"]))
    return Profitability(**figures(answer), attack="no attack" not in answer.model)


def compare(answer):
    fitted = method(answer, privacy_of(answer), **quality_of(answer)).fit(sample(answer.subset))
    assert levels_of(fitted, answer) == answer.levels
    assert fitted.suppressed_ == answer.suppressed
    # The aggregate of ranks is a list of losses, of which the largest is the quality.
    loss = float(answer.loss.strip("[").split(",")[0])
    assert fitted.quality_ == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert fitted.certificate_.proven


def prosecutor():
    return [answer for answer in known("profitability") if answer.model.startswith("prosecutor")]


@pytest.mark.parametrize("answer", sampled("quality", 6), ids=str)
def test_some_qualities_as_arx_has_them(answer):
    compare(answer)


@pytest.mark.parametrize("answer", prosecutor()[::8], ids=str)
def test_some_of_an_intruder_who_counts_the_cost(answer):
    compare(answer)


@pytest.mark.slow
@pytest.mark.parametrize("answer", [*known("quality"), *prosecutor()], ids=str)
def test_all_as_arx_has_them(answer):
    compare(answer)
