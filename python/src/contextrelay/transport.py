"""HTTP over ``requests``: one session for all threads, timeouts, and retries of repeatable calls."""

from __future__ import annotations

import time
from http.cookiejar import DefaultCookiePolicy
from typing import Any, List

import requests
import urllib3
from requests.adapters import HTTPAdapter

from .connection import Connection, Deadline
from .errors import RelayError, RelayHTTPError, RelayUnreachableError
from .wire import Answer, Call, Flow, T

_POOL = 32
_PIECE = 64 * 1024


class Transport:
    """Sends calls to the relay and waits for the answers."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._session = requests.Session()
        # Never store cookies.
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_connections=_POOL, pool_maxsize=_POOL))

    def run(self, flow: Flow[T]) -> T:
        """Runs a flow: sends each call that the flow yields, and returns the result of the flow."""
        try:
            call = next(flow)
            while True:
                try:
                    if call.delay:
                        time.sleep(call.delay)
                    answer = self.send(call)
                except BaseException as error:
                    call = flow.throw(error)
                else:
                    call = flow.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    def send(self, call: Call) -> Answer:
        """Sends a call.

        Retries it if a retry is allowed. Raises an exception if the answer is not a success.
        """
        attempt = 0
        deadline = self.connection.deadline(call)
        while True:
            begun = time.monotonic()
            try:
                answer = self.connection.checked(self._once(call, deadline))
                self.connection.report(call, attempt, begun, answer)
                return answer
            except RelayError as error:
                self.connection.report(call, attempt, begun, None, error)
                # An earlier attempt deleted the object, but the answer to that attempt was lost. So 404
                # means success.
                if attempt > 0 and call.method == "DELETE" and error.status == 404:
                    return Answer(204, {}, b"", call.base or self.connection.base)
                time.sleep(self.connection.wait(call, error, attempt, deadline))
                attempt += 1

    def close(self) -> None:
        """Closes the connections."""
        self._session.close()

    def _once(self, call: Call, deadline: Deadline) -> Answer:
        base = call.base or self.connection.base
        left = deadline.left()
        if left <= 0:
            raise deadline.late(base)
        url, headers, follow = self.connection.address(call)
        try:
            with self._session.request(
                call.method,
                url,
                params=call.parameters,
                headers=headers,
                data=call.body,
                timeout=left,
                allow_redirects=follow,
                # Without `auth`, requests would replace the API key with credentials from the .netrc file of
                # the user.
                auth=_unchanged,
                stream=True,
            ) as response:
                body = _read(response, call, deadline)
                names = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, names, body, base)
        except requests.exceptions.SSLError as error:
            untrusted = RelayUnreachableError(
                f"The certificate of {base} is not trusted.",
                code="untrusted_certificate",
                hint="If you trust it, set the certificate of its issuer: REQUESTS_CA_BUNDLE=/path/to/ca.pem",
            )
            untrusted.final = True
            raise untrusted from error
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise deadline.late(base) from error
        except RelayError:
            raise
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            hint = "Check the address. To start a relay on this machine: relay up"
            raise RelayUnreachableError(f"The relay at {base} does not answer.", hint=hint) from error


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _read(response: requests.Response, call: Call, deadline: Deadline) -> bytes:
    if call.is_large(response.headers.get("Content-Length")):
        deadline.only_progress()
    raw = response.raw
    # `read1` returns what has arrived. `read` is only the fallback, because in an older urllib3 it waits for
    # a whole piece.
    read = getattr(raw, "read1", raw.read)
    pieces: List[bytes] = []
    size = 0
    while True:
        left = deadline.left()
        if left <= 0:
            raise deadline.late(call.base or "the relay")
        _limit_socket(raw, left)
        piece = read(_PIECE, decode_content=True)
        if not piece:
            return b"".join(pieces)
        size += len(piece)
        if size > call.most:
            raise RelayHTTPError(
                f"The answer is longer than {call.most} bytes.", code="too_large", status=413
            )
        pieces.append(piece)


def _limit_socket(raw: Any, seconds: float) -> None:
    """Sets the timeout of the socket for the next read. Otherwise each read could take the whole timeout again."""
    connected = getattr(getattr(raw, "_connection", None), "sock", None)
    if connected is not None:
        connected.settimeout(seconds)
