"""The risk-utility map."""

from discreet.report import pictures


def test_names_stand_where_there_is_room_and_the_front_is_a_line():
    releases = [
        {"name": f"r{i}", "risk": 0.5 - i / 10, "loss": i / 10, "dominated": False}
        for i in range(4)
    ]
    beaten = {"name": "beaten <b>", "risk": 0.5, "loss": 0.3, "dominated": True}
    picture = pictures.risk_utility([*releases, beaten], "risk: share found", "loss: share lost")
    assert "beaten &lt;b&gt;" in picture.svg
    assert "r3: 0.3 and 0.2, not dominated; beaten <b>: 0.3 and 0.5, dominated." in picture.alt
    assert ">dominated<" in picture.svg
    alone = pictures.risk_utility(releases[:1])
    assert ">dominated<" not in alone.svg
