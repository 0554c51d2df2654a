/**
 * The one table of errors. A row is what others can observe: the code, the HTTP status, the exit code of the
 * CLI, the message, and what to do next. `{name}` in a text is filled from the details given at the throw.
 */

export interface ErrorRow {
  readonly status: number;
  readonly exit: 1 | 2 | 3 | 4 | 5;
  readonly message: string;
  readonly hint: string;
}

export const EXIT = { ok: 0, failed: 1, usage: 2, notFound: 3, refused: 4, unreachable: 5 } as const;

export const ERRORS = {
  bad_request: {
    status: 400,
    exit: 2,
    message: '{what}',
    hint: 'Correct the request and send it again.',
  },
  bad_json: {
    status: 400,
    exit: 2,
    message: 'The body is not valid JSON: {what}.',
    hint: 'Send a JSON object, or the bytes themselves with another Content-Type.',
  },
  bad_usage: {
    status: 400,
    exit: 2,
    message: '{what}',
    hint: 'See relay {command} --help.',
  },
  bad_config: {
    status: 500,
    exit: 2,
    message: '{where}: {what}',
    hint: 'Correct it there, or remove it to get the default.',
  },
  empty_payload: {
    status: 400,
    exit: 2,
    message: 'There is nothing to store: the payload is empty.',
    hint: 'Send at least one byte, as the body or in "data".',
  },
  bad_part: {
    status: 400,
    exit: 2,
    message: 'That part cannot be taken: {what}.',
    hint: 'Use lines=10-40, grep=PATTERN, json=/a/b or outline=1, one at a time.',
  },
  bad_url: {
    status: 400,
    exit: 2,
    message: 'Not a pointer: {what}.',
    hint: 'A pointer looks like https://host/pull/<uuid>, with #key=… behind it where it is encrypted.',
  },
  unauthorized: {
    status: 401,
    exit: 4,
    message: 'Missing or invalid API key.',
    hint: 'Send Authorization: Bearer cr_live_…, or set CONTEXTRELAY_API_KEY.',
  },
  over_quota: {
    status: 402,
    exit: 4,
    message: 'The monthly limit of {limit} {what} is used up ({used}); it resets at {reset}.',
    hint: 'Wait for the reset, or ask for a larger plan. Pulls still work.',
  },
  forbidden: {
    status: 403,
    exit: 4,
    message: '{what}',
    hint: 'Use a key that has the scope, or ask whoever runs this relay.',
  },
  foreign_origin: {
    status: 403,
    exit: 4,
    message: 'Refused: this relay does not answer requests for {what}.',
    hint: 'Call it by its own address, or allow the host or origin in its configuration.',
  },
  not_found: {
    status: 404,
    exit: 3,
    message: 'Nothing there: {what} does not exist, has expired, or is not yours.',
    hint: 'Check the pointer; ask its sender to push again.',
  },
  no_route: {
    status: 404,
    exit: 3,
    message: 'There is no {method} {path} here.',
    hint: 'See the README for the routes of this relay.',
  },
  method_not_allowed: {
    status: 405,
    exit: 2,
    message: '{path} does not take {method}.',
    hint: 'Use one of: {allowed}.',
  },
  timeout: {
    status: 408,
    exit: 5,
    message: 'It took too long: {what}.',
    hint: 'Try again; for a large payload over a slow line, raise the timeout.',
  },
  conflict: {
    status: 409,
    exit: 1,
    message: '{what}',
    hint: 'Read the current version and try again.',
  },
  idempotency_conflict: {
    status: 409,
    exit: 1,
    message: 'This Idempotency-Key was used for something else.',
    hint: 'Use a new key for new content; repeat a key only to retry the very same request.',
  },
  version_conflict: {
    status: 409,
    exit: 1,
    message: 'The state is at {current}, not at {expected}.',
    hint: 'Read the state again, make the patch anew, and send it with If-Match: {current}.',
  },
  patch_test_failed: {
    status: 409,
    exit: 1,
    message: 'Operation {index} ({op} {path}): the value there is another one. Nothing was changed.',
    hint: 'Read the state again; what the patch was made for is no longer so.',
  },
  bad_patch: {
    status: 400,
    exit: 2,
    message: 'Operation {index} ({op} {path}): {what}. Nothing was changed.',
    hint: 'A patch is a JSON array as in RFC 6902, such as [{"op":"add","path":"/facts/-","value":{…}}].',
  },
  state_invalid: {
    status: 422,
    exit: 1,
    message: 'The patch would break the state at {path}: {what}. Nothing was changed.',
    hint: 'The README lists the fields of com.relay.state.v1.',
  },
  state_too_large: {
    status: 413,
    exit: 4,
    message: 'The state would take {size} bytes; {limit} are allowed. Nothing was changed.',
    hint: 'The largest parts are {parts}: remove what is no longer needed, put long texts into artifacts, or run relay state compact.',
  },
  too_many_hops: {
    status: 429,
    exit: 4,
    message: 'This thread has made its {limit} hops.',
    hint: 'Start a new thread for what is left, or let a person look at why the agents go on.',
  },
  bad_arguments: {
    status: 400,
    exit: 2,
    message: 'The arguments of {capability} do not fit: {what}.',
    hint: 'See relay cap list for what it takes.',
  },
  capability_failed: {
    status: 502,
    exit: 1,
    message: '{capability} failed: {what}.',
    hint: 'Correct the arguments or try again later.',
  },
  bad_bundle: {
    status: 400,
    exit: 4,
    message: 'The bundle is refused: {what}. Nothing was imported.',
    hint: 'Export it again with relay export, and carry the file over unchanged.',
  },
  too_large: {
    status: 413,
    exit: 4,
    message: 'Too large: {what} is limited to {limit} bytes.',
    hint: 'Split it, or push it in parts and hand over several pointers.',
  },
  range_not_satisfiable: {
    status: 416,
    exit: 2,
    message: 'The range is outside of the {size} bytes there are.',
    hint: 'Ask HEAD for the size first.',
  },
  not_text: {
    status: 422,
    exit: 1,
    message: 'This payload is not text, so it has no {what}.',
    hint: 'Pull it raw, or ask for a byte range.',
  },
  not_json: {
    status: 422,
    exit: 1,
    message: 'This payload is not JSON: {what}.',
    hint: 'Ask for lines or grep instead.',
  },
  upgrade_required: {
    status: 426,
    exit: 2,
    message: 'This address speaks WebSocket only.',
    hint: 'Connect with ws:// or wss://; for plain HTTP there is an event stream.',
  },
  rate_limited: {
    status: 429,
    exit: 4,
    message: 'Too many requests; try again in {seconds} s.',
    hint: 'Slow down, or wait as long as Retry-After says.',
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
    message: 'Failed to decrypt: the key in the URL is damaged ({what}).',
    hint: 'Use the whole URL as it was given to you; a line break or a missing end is the usual cause.',
  },
  aborted: {
    status: 499,
    exit: 1,
    message: 'Stopped before it was done: {what}.',
    hint: 'Nothing was stored. Try again.',
  },
  failed: {
    status: 500,
    exit: 1,
    message: '{what}',
    hint: 'Put that right and try again.',
  },
  port_taken: {
    status: 500,
    exit: 1,
    message: 'Port {port} on {host} is taken{by}.',
    hint: 'Choose another: relay up --port 0',
  },
  bad_file: {
    status: 422,
    exit: 1,
    message: '{file} cannot be used: {what} (line {line}, column {column}). It was left as it is.',
    hint: 'Correct it by hand at that place, then run the command again.',
  },
  no_project: {
    status: 404,
    exit: 3,
    message: 'There are no project files in {path}.',
    hint: 'Make them with: relay project init',
  },
  no_entry: {
    status: 404,
    exit: 3,
    message: '{file} has no {what}.',
    hint: 'List what it has with: {list}',
  },
  project_locked: {
    status: 503,
    exit: 1,
    message: 'The project files in {path} are locked by another process ({who}).',
    hint: 'Try again. If nothing is at work there, delete {lock}',
  },
  internal: {
    status: 500,
    exit: 1,
    message: 'Something went wrong inside the relay.',
    hint: 'Try again; if it stays, the log has the details under request {request}.',
  },
  unreachable: {
    status: 503,
    exit: 5,
    message: 'The relay at {what} does not answer.',
    hint: 'Start one with: relay up. Or unset CONTEXTRELAY_URL to use the local store.',
  },
  busy: {
    status: 503,
    exit: 5,
    message: 'The store is busy: {what}.',
    hint: 'Try again in a moment.',
  },
  store_damaged: {
    status: 503,
    exit: 1,
    message: 'The store at {path} is damaged: {what}. It was left as it is.',
    hint: 'Restore a backup with relay restore, or move the file away to start anew.',
  },
  store_newer: {
    status: 503,
    exit: 1,
    message:
      'The store at {path} has format {found}; this program knows up to {known}. It was left as it is.',
    hint: 'Update ContextRelay, or point RELAY_HOME at another folder.',
  },
  store_foreign: {
    status: 503,
    exit: 1,
    message: 'The database at {path} belongs to another program. It was left as it is.',
    hint: 'Point RELAY_HOME at another folder, or read it in with relay import --legacy.',
  },
  store_unusable: {
    status: 503,
    exit: 1,
    message: 'The store at {path} cannot be used: {what}.',
    hint: 'See who owns the folder and what its permissions are, or point RELAY_HOME at another.',
  },
  store_full: {
    status: 507,
    exit: 1,
    message: 'There is no room left: {what}. Nothing was stored.',
    hint: 'Free some space, or run relay prune.',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export type ErrorDetails = { [name: string]: unknown };

/** The only error that crosses a layer on purpose. Anything else is a bug and is shown as `internal`. */
export class RelayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, cause?: unknown) {
    super(fill(ERRORS[code].message, details), cause === undefined ? undefined : { cause });
    this.name = 'RelayError';
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get exit(): number {
    return ERRORS[this.code].exit;
  }

  /** What to do next. A throw may say it better than the table by passing `hint`. */
  get hint(): string {
    const own = this.details.hint;
    return typeof own === 'string' ? own : fill(ERRORS[this.code].hint, this.details);
  }

  /** The shape every interface answers with. */
  toJSON(): { error: string; code: ErrorCode; hint: string } {
    return { error: this.message, code: this.code, hint: this.hint };
  }
}

export function isRelayError(error: unknown, code?: ErrorCode): error is RelayError {
  return error instanceof RelayError && (code === undefined || error.code === code);
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code);
}

function fill(text: string, details: ErrorDetails): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(details[name] ?? `{${name}}`));
}
