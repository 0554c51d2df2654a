"""HTTP over ``urllib3``: one connection pool for all threads, timeouts, and retries of repeatable calls.

Proxies, trusted certificates and default headers are those of ``requests``, but they are looked up only once. A
``requests.Session`` would look them up for each request, which takes longer than sending the request.
"""

from __future__ import annotations

import functools
import os
import time
from typing import Any, Dict, List
from urllib.parse import urlencode, urljoin

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import (
    DEFAULT_CA_BUNDLE_PATH,
    default_headers,
    get_environ_proxies,
    prepend_scheme_if_needed,
    select_proxy,
)
from urllib3.exceptions import HTTPError, NewConnectionError, SSLError

from .connection import Connection, Deadline, no_answer, untrusted
from .errors import RelayError, RelayHTTPError
from .pointer_url import origin_of
from .wire import Answer, Call, Flow, T

_POOL = 32
_PIECE = 256 * 1024
_REDIRECTS = 30
_HEADERS = dict(default_headers())


class Transport:
    """Sends calls to the relay and waits for the answers."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
        trusted = bundle or DEFAULT_CA_BUNDLE_PATH
        self._tls: Dict[str, Any] = {
            "cert_reqs": "CERT_REQUIRED",
            "ca_cert_dir" if os.path.isdir(trusted) else "ca_certs": trusted,
        }
        self._adapter = HTTPAdapter(pool_connections=_POOL, pool_maxsize=_POOL)
        self._adapter.init_poolmanager(_POOL, _POOL, **self._tls)
        # The proxy of an origin is looked up once.
        self._pools = functools.lru_cache(maxsize=_POOL)(self._find_pools)

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
        self._adapter.close()

    def _find_pools(self, origin: str) -> urllib3.PoolManager:
        """Returns the connection pools for an origin: direct ones, or those of the proxy in the environment."""
        proxy = select_proxy(origin, get_environ_proxies(origin))
        if not proxy:
            return self._adapter.poolmanager  # type: ignore[no-any-return]
        address = prepend_scheme_if_needed(proxy, "http")  # type: ignore[no-untyped-call]
        return self._adapter.proxy_manager_for(address, **self._tls)  # type: ignore[no-any-return]

    def _once(self, call: Call, deadline: Deadline) -> Answer:
        base = call.base or self.connection.base
        url, headers, follow = self.connection.address(call)
        if call.parameters:
            url += "?" + urlencode(call.parameters)
        try:
            redirects = 0
            origin = origin_of(base)
            while True:
                left = deadline.left()
                if left <= 0:
                    raise deadline.late(base)
                response = self._pools(origin).urlopen(
                    call.method,
                    url,
                    body=call.body,
                    headers={**_HEADERS, **headers},
                    redirect=False,
                    retries=False,
                    timeout=left,
                    preload_content=False,
                )
                location = response.get_redirect_location() if follow and redirects < _REDIRECTS else None
                if not location:
                    break
                response.close()
                url = urljoin(url, location)
                origin = origin_of(url)
                redirects += 1
            try:
                body = _read(response, call, deadline)
            finally:
                # Returns the connection to its pool, or closes it if a part of the answer is unread.
                response.close()
            names = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, names, body, base)
        except RelayError:
            raise
        except SSLError as error:
            raise untrusted(base) from error
        except (requests.RequestException, HTTPError, OSError) as error:
            # In urllib3 1, NewConnectionError extends the timeout error. But a refused connection is no timeout.
            is_late = isinstance(error, (urllib3.exceptions.TimeoutError, TimeoutError))
            if is_late and not isinstance(error, NewConnectionError):
                raise deadline.late(base) from error
            raise no_answer(base) from error


def _read(response: urllib3.BaseHTTPResponse, call: Call, deadline: Deadline) -> bytes:
    if call.is_large(response.headers.get("Content-Length")):
        deadline.only_progress()
    # `read1` returns what has arrived. `read` is only the fallback, because in an older urllib3 it waits for
    # a whole piece.
    read = getattr(response, "read1", response.read)
    pieces: List[bytes] = []
    size = 0
    while True:
        left = deadline.left()
        if left <= 0:
            raise deadline.late(call.base or "the relay")
        _limit_socket(response, left)
        piece = read(_PIECE, decode_content=True)
        if not piece:
            return b"".join(pieces)
        size += len(piece)
        if size > call.most:
            raise RelayHTTPError(
                f"The answer is longer than {call.most} bytes.", code="too_large", status=413
            )
        pieces.append(piece)


def _limit_socket(response: Any, seconds: float) -> None:
    """Sets the timeout of the socket for the next read. Otherwise each read could take the whole timeout again."""
    connected = getattr(getattr(response, "_connection", None), "sock", None)
    if connected is not None:
        connected.settimeout(seconds)
