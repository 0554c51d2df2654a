"""Fixtures of all framework tests."""

from __future__ import annotations

import pytest

from contextrelay.integrations import large_results


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a busy machine take longer than 5 s to store a megabyte. Other tests test the deadline."""
    monkeypatch.setattr(large_results, "_OFFLOAD_S", 60.0)
