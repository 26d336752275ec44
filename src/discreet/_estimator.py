"""scikit-learn's part of a method, without scipy.stats, which takes longer to load than the rest.

scikit-learn names it as it is loaded, and calls it where no method comes by.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """Stands for a module until something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


_stats = sys.modules.setdefault("scipy.stats", _Later("scipy.stats"))
from sklearn.base import BaseEstimator as BaseEstimator  # noqa: E402
from sklearn.base import OneToOneFeatureMixin as OneToOneFeatureMixin  # noqa: E402
from sklearn.base import TransformerMixin as TransformerMixin  # noqa: E402
from sklearn.utils.validation import check_is_fitted as check_is_fitted  # noqa: E402
from sklearn.utils.validation import validate_data as validate_data  # noqa: E402

if sys.modules["scipy.stats"] is _stats and isinstance(_stats, _Later):
    del sys.modules["scipy.stats"]
