"""Local suppression: the few cells that still give somebody away are blanked."""

from discreet.suppression.local_suppression import LocalSuppression as LocalSuppression
