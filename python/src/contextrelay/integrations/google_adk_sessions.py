"""Google ADK: a session service that stores sessions as files of a relay."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from typing import Any, Dict, List, Optional, Tuple

from ..errors import ConflictError, NotFoundError
from . import missing_extra
from .entry_log import EntryLog, SessionFiles, segment
from .large_results import seconds_of

try:
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import (
        BaseSessionService,
        GetSessionConfig,
        ListSessionsResponse,
    )
    from google.adk.sessions.session import Session
except ImportError as error:
    raise missing_extra("google-adk", error) from error

__all__ = ["ContextRelaySessionService"]


class ContextRelaySessionService(SessionFiles, BaseSessionService):
    """Sessions as files of a relay. Any process that reaches the relay can continue them.

    The state of a session is its initial state and the changes in its events. State with the prefix ``app:`` or ``user:``
    is a file of its own. ``ttl``: seconds until entries expire. Default: never.
    """

    default_space = "adk-sessions"

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: Optional[Dict[str, Any]] = None,
        session_id: Optional[str] = None,
    ) -> Session:
        """Creates a session. Raises AlreadyExistsError if the id is in use."""
        return await asyncio.to_thread(self._create, app_name, user_id, state or {}, session_id)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: Optional[GetSessionConfig] = None
    ) -> Optional[Session]:
        """Returns a session with its state and events, or None."""
        return await asyncio.to_thread(self._get, app_name, user_id, session_id, config)

    async def list_sessions(self, *, app_name: str, user_id: Optional[str] = None) -> ListSessionsResponse:
        """Returns the sessions without events and state, the most recently changed last."""

        def read() -> List[Session]:
            prefix = f"{segment(app_name)}/" + ("" if user_id is None else f"{segment(user_id)}/")
            infos = list(self._files.all(prefix))
            changed: Dict[str, float] = {}
            for info in infos:
                folder = "/".join(info.path.split("/")[:3])
                changed[folder] = max(changed.get(folder, 0.0), seconds_of(info.modified_at))
            return [
                Session(
                    app_name=app_name, last_update_time=changed[info.path[: -len(_META)]], **info.metadata
                )
                for info in infos
                if info.path.endswith(_META)
            ]

        sessions = await asyncio.to_thread(read)
        return ListSessionsResponse(sessions=sorted(sessions, key=lambda each: each.last_update_time))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Deletes a session with its events."""
        folder = _session_folder(app_name, user_id, session_id)
        await asyncio.to_thread(lambda: self._files.remove(prefix=f"{folder}/"))

    async def get_user_state(self, *, app_name: str, user_id: str) -> Dict[str, Any]:
        """Returns the state that all sessions of a user share."""
        return (await asyncio.to_thread(self._state, _user_state(app_name, user_id)))[0]

    async def append_event(self, session: Session, event: Event) -> Event:
        """Stores an event and updates the state."""
        if event.partial:
            return event
        await super().append_event(session=session, event=event)
        session.last_update_time = event.timestamp
        await asyncio.to_thread(self._append, session, event)
        return event

    def _create(self, app: str, user: str, state: Dict[str, Any], requested_id: Optional[str]) -> Session:
        session_id = (requested_id or "").strip() or str(uuid.uuid4())
        own = self._share(app, user, state)
        try:
            self._files.put(
                _session_folder(app, user, session_id) + _META,
                json.dumps(own),
                content_type="application/json",
                metadata={"user_id": user, "id": session_id},
                ttl=self._ttl,
                keep=0,
                if_absent=True,
            )
        except ConflictError:
            raise AlreadyExistsError(f"Session with id {session_id} already exists.") from None
        shared = self._shared(app, user)
        return Session(
            app_name=app, user_id=user, id=session_id, state={**own, **shared}, last_update_time=time.time()
        )

    def _get(
        self, app: str, user: str, session_id: str, config: Optional[GetSessionConfig]
    ) -> Optional[Session]:
        try:
            state = self._files.json(_session_folder(app, user, session_id) + _META)
        except NotFoundError:
            return None
        stored = self._log(app, user, session_id).read() or []
        events = list({event.id: event for event in map(Event.model_validate, stored)}.values())
        for event in events:
            state.update(_split(event.actions.state_delta)["session"])
        updated = events[-1].timestamp if events else 0.0
        if config is not None and config.num_recent_events is not None:
            events = events[-config.num_recent_events :] if config.num_recent_events else []
        if config is not None and config.after_timestamp is not None:
            events = [event for event in events if event.timestamp >= config.after_timestamp]
        return Session(
            app_name=app,
            user_id=user,
            id=session_id,
            state={**state, **self._shared(app, user)},
            events=events,
            last_update_time=updated,
        )

    def _append(self, session: Session, event: Event) -> None:
        self._share(session.app_name, session.user_id, event.actions.state_delta)
        log = self._log(session.app_name, session.user_id, session.id)
        log.append([event.model_dump(mode="json", exclude_none=True)])

    def _share(self, app: str, user: str, delta: Dict[str, Any]) -> Dict[str, Any]:
        """Stores the changes of the shared states. Returns the changes of the session's own state."""
        parts = _split(delta)
        for path, changes in ((_app_state(app), parts["app"]), (_user_state(app, user), parts["user"])):
            while changes:
                state, etag = self._state(path)
                try:
                    self._files.put(
                        path,
                        json.dumps({**state, **changes}),
                        content_type="application/json",
                        ttl=self._ttl,
                        keep=0,
                        if_match=etag,
                        if_absent=etag is None,
                    )
                    break
                except ConflictError:  # Another process changed the state. Read it again.
                    continue
        return parts["session"]

    def _shared(self, app: str, user: str) -> Dict[str, Any]:
        app_state, user_state = self._state(_app_state(app))[0], self._state(_user_state(app, user))[0]
        return {
            **{f"app:{name}": value for name, value in app_state.items()},
            **{f"user:{name}": value for name, value in user_state.items()},
        }

    def _state(self, path: str) -> Tuple[Dict[str, Any], Optional[str]]:
        file = self._files.read([path]).get(path)
        return ({}, None) if file is None else (json.loads(file.content), file.info.etag)

    def _log(self, app: str, user: str, session_id: str) -> EntryLog:
        folder = f"{_session_folder(app, user, session_id)}/events/"
        return EntryLog(self._relay, self._space, folder, ttl=self._ttl)


_META = "/session.json"


def _session_folder(app: str, user: str, session_id: str) -> str:
    return f"{segment(app)}/{segment(user)}/{segment(session_id)}"


def _app_state(app: str) -> str:
    return f"{segment(app)}/app-state.json"


def _user_state(app: str, user: str) -> str:
    return f"{segment(app)}/{segment(user)}/user-state.json"


def _split(delta: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Splits a change of state by its scope. Temporary state is not stored."""
    parts: Dict[str, Dict[str, Any]] = {"app": {}, "user": {}, "temp": {}, "session": {}}
    for name, value in delta.items():
        scope, _, rest = name.partition(":")
        if rest and scope in ("app", "user", "temp"):
            parts[scope][rest] = value
        else:
            parts["session"][name] = value
    return parts
