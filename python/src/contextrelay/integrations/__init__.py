"""Integrations for agent frameworks. Each needs its own extra and imports only its own framework.

from contextrelay.integrations import ContextRelayPushTool      # or from contextrelay.integrations.crewai
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Dict

#: Maps each exported name to the module that defines it. Modules are imported on first use.
_HOMES: Dict[str, str] = {
    "ContextRelayCallbackHandler": "langchain",
    "ContextRelayMiddleware": "langchain",
    "ContextRelayRetriever": "langchain",
    "get_langchain_tools": "langchain",
    "ContextRelaySaver": "langgraph",
    "ContextRelayPullTool": "crewai",
    "ContextRelayPushTool": "crewai",
    "contextrelay_pull": "autogen",
    "contextrelay_push": "autogen",
    "get_autogen_tools": "autogen",
    "ContextRelayWorkbench": "autogen",
    "ContextRelayFunctionMiddleware": "agent_framework",
    "get_agent_framework_tools": "agent_framework",
    "RelayFileSystem": "fsspec",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """Returns the exception that says which extra to install."""
    return ImportError(
        f"This needs contextrelay[{extra}]: pip install './python[{extra}]' in the clone ({error})"
    )
