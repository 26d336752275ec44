"""Methods that replace values by coarser ones, so that every record has enough others like it."""

from discreet.generalization.hierarchy import Hierarchy as Hierarchy
