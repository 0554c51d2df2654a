"""The exceptions of the package.

Each has the relay's error ``code`` (``not_found``, ``too_large``, …) and a ``hint`` that says what to do next. They also
extend the exceptions of ``requests`` and of the standard library: an error answer is a ``requests.HTTPError``, a wrong key
is a ``ValueError``, a timeout is a ``TimeoutError``.
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
    """Base class of all exceptions of this package."""

    code: str = "failed"
    #: Seconds after which the client may try again, if the relay sent them.
    retry_after: Optional[float] = None

    def __init__(
        self, message: str, *, code: Optional[str] = None, hint: str = "", status: Optional[int] = None
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.hint = hint
        #: HTTP status of the answer, if there was one.
        self.status = status

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class RelayHTTPError(RelayError, requests.HTTPError):
    """The relay answered with an error."""


class NotFoundError(RelayHTTPError):
    """The object does not exist, has expired, was deleted, or belongs to another tenant.

    The relay does not say which of these is the case.
    """


class ConflictError(RelayHTTPError):
    """Another client was faster: the version has changed, a result already exists, or the lease is lost."""


class RelayUnreachableError(RelayError, requests.ConnectionError):
    """No relay answers at this address."""

    code = "unreachable"
    #: True if a retry cannot help: the server is not a relay, or its certificate is not trusted.
    final: bool = False


class RelayTimeoutError(RelayError, requests.Timeout, TimeoutError):
    """The relay did not answer in time, or an agent did not finish in time."""

    code = "timeout"
    #: Output of the agent up to the timeout.
    output: str = ""


class BadInputError(RelayError, ValueError):
    """The input is invalid, for example a URL that is not a pointer. Nothing was sent."""

    code = "bad_request"


class DecryptError(RelayError, ValueError):
    """The key is missing, or it is not the key with which the payload was encrypted."""

    code = "decrypt_failed"

    def __init__(self, message: str = "Failed to decrypt: Invalid or missing key", **more: object) -> None:
        super().__init__(message, **more)  # type: ignore[arg-type]


class TaskFailedError(RelayError):
    """The agent could not do the task. ``text`` is the agent's complete answer."""

    code = "task_failed"

    def __init__(self, message: str, *, task_id: str, text: str) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.text = text
