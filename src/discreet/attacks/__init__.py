"""Attacks: what an intruder really gets out of a release, against people who are not in it."""

from discreet.attacks._excess import Attack as Attack
from discreet.attacks._excess import Rate as Rate
from discreet.attacks.downcoding import Downcoding as Downcoding
from discreet.attacks.downcoding import downcoding as downcoding
from discreet.attacks.minimality import Minimality as Minimality
from discreet.attacks.minimality import minimality as minimality
