from __future__ import annotations

import pytest

from .conftest import RelayProcess
from .pages import run_page


@pytest.fixture(autouse=True)
def environment(server: RelayProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTRELAY_URL", server.url)


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md"])
def test_the_code_of_the_page_runs(page: str) -> None:
    run_page(page)
