"""HTTP over ``requests``: one session for all threads, timeouts, and retries of repeatable calls."""

from __future__ import annotations

import time
from http.cookiejar import DefaultCookiePolicy

import requests
from requests.adapters import HTTPAdapter

from .connection import Connection
from .errors import RelayError, RelayHTTPError, RelayTimeoutError, RelayUnreachableError
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
                    answer = self.send(call)
                except RelayError as error:
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
        while True:
            try:
                return self.connection.checked(self._once(call))
            except RelayError as error:
                # An earlier attempt deleted the object, but the answer to that attempt was lost. So 404
                # means success.
                if attempt > 0 and call.method == "DELETE" and error.status == 404:
                    return Answer(204, {}, b"", call.base or self.connection.base)
                time.sleep(self.connection.wait(call, error, attempt))
                attempt += 1

    def close(self) -> None:
        self._session.close()

    def _once(self, call: Call) -> Answer:
        base = call.base or self.connection.base
        url, headers, follow = self.connection.address(call)
        try:
            with self._session.request(
                call.method,
                url,
                params=call.parameters,
                headers=headers,
                data=call.body,
                timeout=self.connection.timeout,
                allow_redirects=follow,
                # Without `auth`, requests would replace the API key with credentials from the .netrc file of
                # the user.
                auth=_unchanged,
                stream=True,
            ) as response:
                body = _read(response, call.most)
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
        except requests.Timeout as error:
            message = f"No answer from {base} within {self.connection.timeout:g} s."
            raise RelayTimeoutError(message) from error
        except RelayError:
            raise
        except (requests.RequestException, OSError) as error:
            hint = "Check the address. To start a relay on this machine: relay up"
            raise RelayUnreachableError(f"The relay at {base} does not answer.", hint=hint) from error


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _read(response: requests.Response, most: int) -> bytes:
    pieces = []
    size = 0
    for piece in response.iter_content(_PIECE):
        size += len(piece)
        if size > most:
            raise RelayHTTPError(f"The answer is longer than {most} bytes.", code="too_large", status=413)
        pieces.append(piece)
    return b"".join(pieces)
