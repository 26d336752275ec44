"""How many examples hypothesis draws: what a test asks for, scaled by the profile."""

from hypothesis import settings


def examples(count: int, **options) -> settings:
    """Settings of a test that asks for `count` examples, where 100 are usual."""
    return settings(max_examples=-(-count * settings.default.max_examples // 100), **options)
