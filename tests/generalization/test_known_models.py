"""ARX's answers on Adult for the models of classes, and of classes in a population."""

import pytest

from discreet.datasets import load_adult
from discreet.generalization import (
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    TCloseness,
)
from tests.generalization.known import known, levels_of, method, sample, sampled

FAMILIES = ["k-map", "delta-presence", "delta-disclosure", "l-diversity", "t-closeness"]
# ARX stops its sum of Grassberger's terms early, and so keeps fewer classes: ours is better.
BETTER = {187: 208_434.4123387629}
# ARX looks at k first, and lets classes of the population pass that have no record in the table.
WRONG = 55
# The quality is another one.
MONOTONIC = 213


def privacy_of(answer):
    """The models of an answer."""
    given, name, column = answer.parameters, answer.model, answer.confidential
    first, *others = name.split(" + ")
    models = [KAnonymity(int(given["k"]))] if others == ["k-anonymity"] else []
    if first == "k-map":
        return [*models, KMap(int(given["k"]), population=load_adult())]
    if first.startswith("k-map estimated"):
        poisson = "D3" in name
        estimated = KMap(
            int(given["k"]),
            population=int(given["population"]),
            estimator="poisson" if poisson else "zero-truncated",
            significance=given["significance"],
            arx=poisson,
        )
        assert f"derived k={estimated.least(30_162)} " in answer.note
        return [*models, estimated]
    if first == "delta-presence":
        return [*models, DeltaPresence(given["min"], given["max"], population=load_adult())]
    if first == "delta-disclosure":
        return [*models, DeltaDisclosure(given["delta"], column=column)]
    if first in ("equal", "ordered"):
        # Text is ordered as the dictionary has it.
        text = first == "ordered" and column != "age"
        order = sorted(load_adult()[column].unique().to_pylist()) if text else None
        return [*models, TCloseness(given["t"], column=column, distance=first, order=order)]
    kind, *estimator = first.split()
    values = given["l"] if kind == "entropy" else int(given["l"])
    by = estimator[0].lower() if estimator else None
    return [*models, LDiversity(values, column=column, kind=kind, c=given.get("c"), estimator=by)]


def fitted_to(answer, **options):
    quality = answer.quality.removesuffix(" (monotonic)")
    fitted = method(answer, privacy_of(answer), quality=quality, **options)
    return fitted.fit(sample(answer.subset))


def node_of(answer):
    return dict(zip(answer.columns, map(int, answer.levels), strict=True))


def assert_reproduced(answer):
    """The levels are the same, or others that lose as much."""
    # ARX's geometric mean is a power of a product, which has fewer digits.
    loss = pytest.approx(float(answer.loss), rel=1e-9, abs=1e-10)
    fitted = fitted_to(answer)
    assert fitted.certificate_.proven
    if answer.line in BETTER:
        assert fitted.quality_ == pytest.approx(BETTER[answer.line])
        assert fitted.quality_ < float(answer.loss)
        return
    assert fitted.quality_ == loss
    if levels_of(fitted, answer) != answer.levels:
        fitted = fitted_to(answer, levels=node_of(answer))
        assert fitted.quality_ == loss
    # Where nothing is kept apart, ARX calls what is generalized to stars suppressed, or not.
    assert fitted.suppressed_ == answer.suppressed


def answers(family):
    return [one for one in known(family) if one.line not in (WRONG, MONOTONIC)]


QUICK = [
    answer
    for family, every in zip(FAMILIES, (8, 6, 6, 4, 7), strict=True)
    for answer in sampled(family, every)
    # Those that take a second or more are for the slow test.
    if answer.line not in (WRONG, MONOTONIC) and answer.milliseconds < 1700
]


@pytest.mark.parametrize("answer", QUICK, ids=str)
def test_a_sample_of_the_known_answers(answer):
    assert_reproduced(answer)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_all_known_answers(family):
    for answer in answers(family):
        assert_reproduced(answer)


def test_the_estimate_that_is_enough_is_one_record_less_than_arx_takes():
    (answer,) = [one for one in known("k-map") if one.line == 31]
    ours = KMap(20, population=60_324)
    assert ours.least(30_162) == 16
    better = method(answer, ours).fit(sample(""))
    assert better.quality_ < float(answer.loss)


def test_a_class_of_the_population_without_records_makes_a_node_infeasible():
    (answer,) = [one for one in known("delta-presence") if one.line == WRONG]
    fitted = fitted_to(answer)
    assert (levels_of(fitted, answer), answer.levels) == ("14110221", "10122221")
    assert fitted.quality_ == pytest.approx(33_674.933590445486)
    assert float(answer.loss) == pytest.approx(25_949.0068665567)
    with pytest.raises(ValueError, match="some class of the population has no record in the table"):
        fitted_to(answer, levels=node_of(answer))


def test_a_node_of_a_quality_that_is_not_ours_suppresses_the_same_records():
    (answer,) = [one for one in known("t-closeness") if one.line == MONOTONIC]
    assert fitted_to(answer, levels=node_of(answer)).suppressed_ == answer.suppressed
