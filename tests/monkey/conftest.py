"""Without Chromium one of the monkeys stays at home."""

import pytest

from tests.browser.conftest import chromium_path


@pytest.fixture
def chromium_found():
    if chromium_path() is None:
        pytest.skip("no Chromium on this machine; `./check` installs it")
    return True
