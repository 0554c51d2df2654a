"""Google ADK: tools, artifact and session services, and a plugin that replaces large tool results with pointers."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from ..client import ContextRelay
from ..errors import ConflictError
from ..files import FileInfo
from . import missing_extra
from .entry_log import segment
from .large_results import LargeResultOptions, LargeResults, seconds_of
from .tools import RelayTool, RelayToolOptions, RelayTools

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from google.adk.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService, ensure_part
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.genai import types
except ImportError as error:
    raise missing_extra("google-adk", error) from error

from .google_adk_sessions import ContextRelaySessionService

__all__ = [
    "ContextRelayArtifactService",
    "ContextRelayPlugin",
    "ContextRelaySessionService",
    "get_google_adk_tools",
]


def get_google_adk_tools(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[RelayToolOptions]
) -> List[BaseTool]:
    """Returns the tools ``push_context``, ``peek_context`` and ``pull_context``, for ``Agent(tools=…)``."""
    return [_AdkTool(tool) for tool in RelayTools(relay, **options).all()]


class _AdkTool(BaseTool):
    def __init__(self, tool: RelayTool) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._tool.schema
        )

    async def run_async(self, *, args: Dict[str, Any], tool_context: Any) -> Any:
        return {"result": await self._tool.arun(**args)}


class ContextRelayPlugin(BasePlugin):
    """Plugin for ``Runner(plugins=[…])``.

    If a tool result, or a text in it, is larger than ``max_bytes``, it is stored and the model gets a pointer. The agent needs
    the tool ``pull_context``. The options are those of :class:`LargeResultOptions`.
    """

    def __init__(
        self, relay: Union[ContextRelay, str, None] = None, **options: Unpack[LargeResultOptions]
    ) -> None:
        super().__init__("contextrelay")
        self._results = LargeResults(relay, **options)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: Dict[str, Any], tool_context: Any, result: Any
    ) -> Optional[Dict[str, Any]]:
        after = await asyncio.to_thread(self._results.swap_json, result, tool.name)
        if after is result:
            return None
        return after if isinstance(after, dict) else {"result": after}


class ContextRelayArtifactService(BaseArtifactService):
    """Artifacts as files of a relay, one file for each version. All versions stay until the artifact is deleted.

    ``ttl``: seconds until a version expires. Default: never.
    """

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        *,
        space: str = "adk-artifacts",
        ttl: Optional[int] = None,
    ) -> None:
        client = relay if isinstance(relay, ContextRelay) else ContextRelay(relay)
        self._files = client.files.space(space)
        self._ttl = ttl

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Any,
        session_id: Optional[str] = None,
        custom_metadata: Optional[Dict[str, Any]] = None,
    ) -> int:
        """Stores a new version and returns its number. The first version is 0."""
        content, content_type, kind = _content_of(ensure_part(artifact))
        folder = _artifact_folder(app_name, user_id, session_id, filename)
        metadata = {"filename": filename, "kind": kind, "custom": custom_metadata or {}}

        def save() -> int:
            versions = [_number(info) for info in self._files.all(folder)]
            version = versions[-1] + 1 if versions else 0
            while True:
                try:
                    self._files.put(
                        f"{folder}{version:09}",
                        content,
                        content_type=content_type,
                        metadata=metadata,
                        ttl=self._ttl,
                        keep=0,
                        if_absent=True,
                    )
                    return version
                except ConflictError:  # Another process stored this version.
                    version += 1

        return await asyncio.to_thread(save)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: Optional[str] = None,
        version: Optional[int] = None,
    ) -> Optional[types.Part]:
        """Returns a version, by default the newest. Returns None if there is none."""
        info = await self._version(app_name, user_id, session_id, filename, version)
        if info is None:
            return None
        content = await asyncio.to_thread(self._files.bytes, info.path)
        kind = info.metadata["kind"]
        if kind == "text":
            return types.Part(text=content.decode("utf-8"))
        if kind == "file":
            return types.Part(file_data=types.FileData(**json.loads(content)))
        mime_type = info.content_type or "application/octet-stream"
        return types.Part(inline_data=types.Blob(data=content, mime_type=mime_type))

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: Optional[str] = None
    ) -> List[str]:
        """Returns the names of the artifacts of the session and of the user."""
        folders = [_scope(app_name, user_id, None)]
        if session_id is not None:
            folders.append(_scope(app_name, user_id, session_id))
        infos = await asyncio.to_thread(lambda: [each for f in folders for each in self._files.all(f)])
        return sorted({str(info.metadata["filename"]) for info in infos})

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: Optional[str] = None
    ) -> None:
        """Deletes an artifact with all versions."""
        folder = _artifact_folder(app_name, user_id, session_id, filename)
        await asyncio.to_thread(lambda: self._files.remove(prefix=folder))

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: Optional[str] = None
    ) -> List[int]:
        """Returns the numbers of the stored versions."""
        return [_number(info) for info in await self._versions(app_name, user_id, session_id, filename)]

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: Optional[str] = None
    ) -> List[ArtifactVersion]:
        """Returns the stored versions with their metadata."""
        return [_described(info) for info in await self._versions(app_name, user_id, session_id, filename)]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: Optional[str] = None,
        version: Optional[int] = None,
    ) -> Optional[ArtifactVersion]:
        """Returns the metadata of a version, by default the newest."""
        info = await self._version(app_name, user_id, session_id, filename, version)
        return None if info is None else _described(info)

    async def _versions(self, app: str, user: str, session: Optional[str], name: str) -> List[FileInfo]:
        folder = _artifact_folder(app, user, session, name)
        return await asyncio.to_thread(lambda: list(self._files.all(folder)))

    async def _version(
        self, app: str, user: str, session: Optional[str], name: str, version: Optional[int]
    ) -> Optional[FileInfo]:
        versions = await self._versions(app, user, session, name)
        if version is not None:
            versions = [info for info in versions if _number(info) == version]
        return versions[-1] if versions else None


def _scope(app: str, user: str, session: Optional[str]) -> str:
    return f"{segment(app)}/{segment(user)}/{'user' if session is None else segment(session)}/"


def _artifact_folder(app: str, user: str, session: Optional[str], filename: str) -> str:
    # The prefix `user:` is how ADK marks an artifact that all sessions of a user share.
    shared = session is None or filename.startswith("user:")
    return f"{_scope(app, user, None if shared else session)}{segment(filename)}/"


def _number(info: FileInfo) -> int:
    return int(info.path.rsplit("/", 1)[1])


def _described(info: FileInfo) -> ArtifactVersion:
    return ArtifactVersion(
        version=_number(info),
        canonical_uri=f"relay://files/{info.space}/{info.path}",
        custom_metadata=info.metadata.get("custom") or {},
        create_time=seconds_of(info.created_at),
        mime_type=info.content_type,
    )


def _content_of(part: types.Part) -> Tuple[bytes, str, str]:
    """Returns the bytes of a part, their content type, and the kind of the part."""
    if part.inline_data is not None:
        return part.inline_data.data or b"", part.inline_data.mime_type or "application/octet-stream", "bytes"
    if part.text is not None:
        return part.text.encode("utf-8"), "text/plain", "text"
    if part.file_data is not None:
        content = json.dumps(part.file_data.model_dump(exclude_none=True)).encode("utf-8")
        return content, part.file_data.mime_type or "application/json", "file"
    raise ValueError("An artifact must have inline_data, text or file_data.")
