"""Attacks: what an intruder really gets out of a release, against people who are not in it."""

from discreet.attacks._excess import Attack as Attack
from discreet.attacks._excess import Rate as Rate
from discreet.attacks.averaging import Averaging as Averaging
from discreet.attacks.averaging import averaging as averaging
from discreet.attacks.differencing import Differencing as Differencing
from discreet.attacks.differencing import differencing as differencing
from discreet.attacks.downcoding import Downcoding as Downcoding
from discreet.attacks.downcoding import downcoding as downcoding
from discreet.attacks.inference import inference as inference
from discreet.attacks.known_members import KnownMembers as KnownMembers
from discreet.attacks.known_members import known_members as known_members
from discreet.attacks.linkability import linkability as linkability
from discreet.attacks.membership import membership as membership
from discreet.attacks.minimality import Minimality as Minimality
from discreet.attacks.minimality import minimality as minimality
from discreet.attacks.regression import regression as regression
from discreet.attacks.singling_out import singling_out as singling_out
