"""What to do: the roles of the columns, and the steps."""

from discreet.recipe.recipe import Recipe
from discreet.recipe.roles import Roles

__all__ = ["Recipe", "Roles"]
