import type { ErrorRow } from './row.ts';

/** A request, what it asks for, and who asks. */
export const REQUEST_ERRORS = {
  bad_request: {
    status: 400,
    message: '{what}',
    hint: 'Correct the request and send it again.',
    cli: 'Correct it and run the command again.',
    mcp: 'Correct the arguments and call it again.',
  },
  bad_json: {
    status: 400,
    message: 'The body is not valid JSON: {what}.',
    hint: 'Send a JSON object, or the bytes themselves with another Content-Type.',
    cli: 'Give it valid JSON.',
  },
  empty_payload: {
    status: 400,
    message: 'There is nothing to store: the payload is empty.',
    hint: 'Send at least one byte, as the body or in "data".',
    cli: 'Name a file that is not empty, or pipe something in.',
    mcp: 'Give it at least one character.',
  },
  bad_part: {
    status: 400,
    message: 'That part cannot be taken: {what}.',
    hint: 'Use lines=10-40, grep=PATTERN, json=/a/b or outline=1, one at a time.',
    cli: 'Use --lines 10-40, --grep PATTERN, --json-pointer /a/b or --outline, one at a time.',
    mcp: 'Say lines=10-40, grep=PATTERN, json=/a/b, outline or all.',
  },
  bad_url: {
    status: 400,
    message: 'Not a pointer: {what}.',
    hint: 'A pointer looks like https://host/pull/<uuid>, with #key=… behind it where it is encrypted.',
  },
  unauthorized: {
    status: 401,
    message: 'Missing or invalid API key.',
    hint: 'Send Authorization: Bearer cr_live_…, or set CONTEXTRELAY_API_KEY.',
    cli: 'Set CONTEXTRELAY_API_KEY to a key of that relay; whoever runs it makes one with relay keys create.',
  },
  over_quota: {
    status: 402,
    message: 'The monthly limit of {limit} {what} is used up ({used}); it resets at {reset}.',
    hint: 'Wait for the reset, or ask for a larger plan. Pulls still work.',
  },
  over_storage: {
    status: 402,
    message:
      'The plan {plan} has room for {limit} bytes of threads, files and channel messages; {used} are used, and this takes {needed} more.',
    hint: 'Delete threads (relay thread rm), artifacts (relay artifact rm) or files (relay file rm), wait until messages of channels expire, or ask for a larger plan. Reading and deleting still work.',
  },
  too_many_keys: {
    status: 402,
    message: 'The plan {plan} allows {limit} keys, and there are as many.',
    hint: 'Revoke one with relay keys revoke, or ask for a larger plan.',
  },
  forbidden: {
    status: 403,
    message: '{what}',
    hint: 'Use a key that has the scope, or ask whoever runs this relay.',
  },
  foreign_origin: {
    status: 403,
    message: 'Refused: this relay does not answer requests for {what}.',
    hint: 'Call it by its own address, or allow the host or origin in its configuration.',
  },
  not_found: {
    status: 404,
    message: 'Nothing there: {what} does not exist, has expired, or is not yours.',
    hint: 'Check the pointer; ask its sender to push again.',
  },
  no_route: {
    status: 404,
    message: 'There is no {method} {path} here.',
    hint: 'GET /openapi.json names the routes of this relay.',
    cli: 'Check the address; the relay there may be older than this command.',
  },
  method_not_allowed: {
    status: 405,
    message: '{path} does not take {method}.',
    hint: 'Use one of: {allowed}.',
    cli: 'Check the address; the relay there may be older than this command.',
  },
  not_acceptable: {
    status: 406,
    message:
      'A content is given to those who ask for bytes, and this request asks for nothing in particular.',
    hint: 'Send Accept: application/octet-stream, or */* for any form. Without /content there is the preview.',
    cli: 'Read it with relay artifact get.',
  },
  timeout: {
    status: 408,
    message: 'It took too long: {what}.',
    hint: 'Try again; for a large payload over a slow line, raise the timeout.',
  },
  conflict: {
    status: 409,
    message: '{what}',
    hint: 'Read the current version and try again.',
  },
  idempotency_conflict: {
    status: 409,
    message: 'This Idempotency-Key was used for something else.',
    hint: 'Use a new key for new content; repeat a key only to retry the very same request.',
    cli: 'Use a new key for new content; repeat one only to do the very same again.',
  },
  file_changed: {
    status: 412,
    message: 'The file {path} is {current}, and not as the condition says.',
    hint: 'Read it again, make the change anew, and send it with If-Match and the ETag it has now.',
    cli: 'Look at it with relay file log, and say --if-match with the version it is at.',
  },
  too_large: {
    status: 413,
    message: 'Too large: {what} is limited to {limit:bytes}.',
    hint: 'Split it, or push it in parts and hand over several pointers.',
  },
  range_not_satisfiable: {
    status: 416,
    message: 'The range is outside of the {size} bytes there are.',
    hint: 'Ask HEAD for the size first.',
    cli: 'See its size with: relay peek <url>',
  },
  not_text: {
    status: 422,
    message: 'This payload is not text, so it has no {what}.',
    hint: 'Pull it raw, or ask for a byte range.',
    cli: 'Take the whole of it: relay pull <url> --out FILE',
  },
  not_json: {
    status: 422,
    message: 'This payload is not JSON: {what}.',
    hint: 'Ask for lines or grep instead.',
    cli: 'Use --lines or --grep instead.',
  },
  too_costly: {
    status: 422,
    message: 'Stopped: this request takes too much {what}.',
    hint: 'Ask for less at once: a smaller part, a narrower search, or a version that is nearer to the current one.',
  },
  upgrade_required: {
    status: 426,
    message: 'This address speaks WebSocket only.',
    hint: 'Connect with ws:// or wss://; for plain HTTP there is an event stream.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests; try again in {seconds} s.',
    hint: 'Slow down, or wait as long as Retry-After says.',
    cli: 'Wait that long, then run the command again.',
    mcp: 'Wait that long, then call it again.',
  },
  overloaded: {
    status: 503,
    message: 'Too much work on long texts is waiting already.',
    hint: 'Try again after {seconds} s, or pull the payload and look at it there.',
  },
  decrypt_failed: {
    status: 400,
    exit: 4,
    message: 'Failed to decrypt: the key does not fit this payload.',
    hint: 'Use the whole URL as it was given to you, with everything behind #key=.',
  },
  key_missing: {
    status: 400,
    exit: 4,
    message: 'Failed to decrypt: the payload is encrypted and the URL has no key.',
    hint: 'Ask the sender for the whole URL, with #key=… at its end.',
  },
  bad_key: {
    status: 400,
    exit: 4,
    message: 'Failed to decrypt: the key is damaged ({what}).',
    hint: 'Use the whole URL as it was given to you; a line break or a missing end is the usual cause.',
  },
} as const satisfies Record<string, ErrorRow>;
