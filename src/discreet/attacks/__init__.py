"""Attacks: what an intruder really gets out of a release, against people who are not in it."""

from discreet.attacks._excess import Attack as Attack
from discreet.attacks._excess import Rate as Rate
from discreet.attacks.inference import inference as inference
from discreet.attacks.linkability import linkability as linkability
