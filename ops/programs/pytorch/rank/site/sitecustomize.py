"""Read by every Python process of the script when it starts: what follows its `import torch` is put in there.

A sitecustomize that the environment has already is read afterwards.
"""

import importlib.util
import os
import sys

NAME = "ringside_rank"


def begin() -> None:
    """Load the modules beside this folder under a name of their own, and watch for torch."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    where = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(NAME, where, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        return
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
    importlib.import_module(f"{NAME}.start").begin()


def others() -> None:
    """Read the next sitecustomize on the path."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in sys.path:
        file = os.path.join(folder, "sitecustomize.py")
        if os.path.abspath(folder or ".") != here and os.path.isfile(file):
            spec = importlib.util.spec_from_file_location("sitecustomize_of_the_environment", file)
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module(importlib.util.module_from_spec(spec))
            return


begin()
others()
