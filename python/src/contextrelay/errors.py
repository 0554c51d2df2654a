"""What can go wrong, as exceptions.

Each has the relay's own ``code`` (``not_found``, ``too_large``, …) and a ``hint`` that says what to do next. They are also
what callers of ``requests`` and of the standard library expect to catch: an answer of the relay is a
``requests.HTTPError``, a key that does not fit is a ``ValueError``, a wait that was too long is a ``TimeoutError``.
"""

from __future__ import annotations

from typing import Optional

import requests

__all__ = [
    "BadInputError",
    "ConflictError",
    "DecryptError",
    "NotFoundError",
    "RelayError",
    "RelayHTTPError",
    "RelayTimeoutError",
    "RelayUnreachableError",
    "TaskFailedError",
]


class RelayError(Exception):
    """The base of all of them."""

    code: str = "failed"
    #: Seconds after which the relay wants to be asked again.
    retry_after: Optional[float] = None

    def __init__(
        self, message: str, *, code: Optional[str] = None, hint: str = "", status: Optional[int] = None
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.hint = hint
        #: The HTTP status, where a relay answered with one.
        self.status = status

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class RelayHTTPError(RelayError, requests.HTTPError):
    """The relay answered, and said no."""


class NotFoundError(RelayHTTPError):
    """Missing, expired, revoked or somebody else's: the relay does not tell which."""


class ConflictError(RelayHTTPError):
    """Somebody else was first: another version, another result, another holder of the lease."""


class RelayUnreachableError(RelayError, requests.ConnectionError):
    """Nothing that speaks as a relay answers at this address."""

    code = "unreachable"
    #: Asking again will not change it: what answers is no relay, or is not who it says.
    final: bool = False


class RelayTimeoutError(RelayError, requests.Timeout, TimeoutError):
    """No answer, or no result, in time."""

    code = "timeout"
    #: What an agent had shown until then.
    output: str = ""


class BadInputError(RelayError, ValueError):
    """It was not sent: a URL that is no pointer, an option that does not exist, metadata that is no object."""

    code = "bad_request"


class DecryptError(RelayError, ValueError):
    """The key is missing or is not the one that the payload was encrypted with."""

    code = "decrypt_failed"

    def __init__(self, message: str = "Failed to decrypt: Invalid or missing key", **more: object) -> None:
        super().__init__(message, **more)  # type: ignore[arg-type]


class TaskFailedError(RelayError):
    """The agent could not do the task. ``text`` is all that it brought back."""

    code = "task_failed"

    def __init__(self, message: str, *, task_id: str, text: str) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.text = text
