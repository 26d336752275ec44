"""Methods that change values record by record."""

from discreet.perturbation.top_bottom import TopBottom as TopBottom
