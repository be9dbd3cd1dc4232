"""The programs of this folder are run by the tests, as files; they are no tests and are not imported."""

from pathlib import Path

collect_ignore = [p.name for p in Path(__file__).parent.glob("*.py") if not p.name.startswith(("test_", "conftest"))]
