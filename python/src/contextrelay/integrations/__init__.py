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
    "ContextRelayStore": "langgraph_store",
    "ContextRelayBackend": "deepagents",
    "ContextRelaySession": "openai_agents",
    "get_openai_agents_tools": "openai_agents",
    "ContextRelayToolset": "pydantic_ai",
    "get_pydantic_ai_toolset": "pydantic_ai",
    "ContextRelayHook": "strands",
    "ContextRelaySessionRepository": "strands",
    "get_strands_tools": "strands",
    "ContextRelayArtifactService": "google_adk",
    "ContextRelayPlugin": "google_adk",
    "ContextRelaySessionService": "google_adk",
    "get_google_adk_tools": "google_adk",
    "ContextRelaySessionStore": "claude_agent",
    "context_relay_server": "claude_agent",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{home}"), name)
    except ImportError as error:
        # `from contextrelay.integrations import *` must work without the frameworks.
        return _placeholder(error)


def _placeholder(error: ImportError) -> Any:
    """Returns a placeholder for a missing name.

    Calling the placeholder raises an ImportError that names the extra to install.
    """
    message = str(error)

    def missing(*_: object, **__: object) -> Any:
        raise ImportError(message)

    return missing


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """Returns the exception that says which extra to install."""
    return ImportError(
        f"This needs the extra {extra!r}. In a clone of ContextRelay, run: pip install './python[{extra}]' ({error})"
    )
