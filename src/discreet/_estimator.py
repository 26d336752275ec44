"""scikit-learn's part of a method, without two parts of scipy that take longer to load than it.

scikit-learn names them as it is loaded, and calls them where no method comes by.
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


_named = [sys.modules.setdefault(name, _Later(name)) for name in ("scipy.stats", "scipy.special")]
from sklearn.base import BaseEstimator as BaseEstimator  # noqa: E402
from sklearn.base import OneToOneFeatureMixin as OneToOneFeatureMixin  # noqa: E402
from sklearn.base import TransformerMixin as TransformerMixin  # noqa: E402
from sklearn.utils.validation import check_is_fitted as check_is_fitted  # noqa: E402
from sklearn.utils.validation import validate_data as validate_data  # noqa: E402

for _module in _named:
    if isinstance(_module, _Later) and sys.modules.get(_module.__name__) is _module:
        del sys.modules[_module.__name__]
