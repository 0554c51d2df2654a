import { GET_NEWER } from './installing.ts';

/** What others can observe of an error. `{name}` in a text is filled from the details given at the throw, `{name:bytes}` as an amount. */
export interface ErrorRow {
  readonly status: number;
  /** By default what the status stands for, see `exitOf`. */
  readonly exit?: 1 | 2 | 3 | 4 | 5;
  readonly message: string;
  /** What to do next, in the words of HTTP where they matter. */
  readonly hint: string;
  /** The same in the words of commands and flags, where `hint` speaks of requests. Without `{name}`. */
  readonly cli?: string;
  /** The same for a model that has called a tool. Without `{name}`. */
  readonly mcp?: string;
}

/**
 * The one table of errors. A row is what others can observe: the code, the HTTP status, the exit code of the CLI, the
 * message, and what to do next.
 */
export const ERRORS = {
  // A request, what it asks for, and who asks.
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

  // Threads (patches, artifacts, capabilities, bundles) and tasks.
  version_conflict: {
    status: 409,
    message: 'The state is at {current}, not at {expected}.',
    hint: 'Read the state again, make the patch anew, and send it with If-Match: {current}.',
    cli: 'Read the state again with relay state get, and make the patch anew for the version it is at.',
    mcp: 'Read the thread again, make the patch anew, and give the version it is at.',
  },
  patch_test_failed: {
    status: 409,
    message: 'Operation {index} ({op} {path}): the value there is another one. Nothing was changed.',
    hint: 'Read the state again; what the patch was made for is no longer so.',
  },
  bad_patch: {
    status: 400,
    message: 'Operation {index} ({op} {path}): {what}. Nothing was changed.',
    hint: 'A patch is a JSON array as in RFC 6902, such as [{"op":"add","path":"/facts/-","value":{…}}].',
  },
  state_invalid: {
    status: 422,
    message: 'The patch would break the state at {path}: {what}. Nothing was changed.',
    hint: 'relay state patch --help lists the fields of com.relay.state.v1.',
  },
  state_too_large: {
    status: 413,
    message: 'The state would take {size} bytes; {limit} are allowed. Nothing was changed.',
    hint: 'The largest parts are {parts}: remove what is no longer needed, put long texts into artifacts, or run relay state compact.',
  },
  too_many_hops: {
    status: 429,
    message: 'This thread has made its {limit} hops.',
    hint: 'Start a new thread for what is left, or let a person look at why the agents go on.',
  },
  artifact_deleted: {
    status: 410,
    exit: 3,
    message: 'The content of artifact {ref} was deleted for good at {at}.',
    hint: 'Its hash and the event are still there; store the content again where it is needed.',
  },
  bad_arguments: {
    status: 400,
    message: 'The arguments of {capability} do not fit: {what}.',
    hint: 'See relay cap list for what it takes.',
  },
  capability_failed: {
    status: 502,
    message: '{capability} failed: {what}.',
    hint: 'Correct the arguments or try again later.',
  },
  bad_bundle: {
    status: 400,
    exit: 4,
    message: 'The bundle is refused: {what}. Nothing was imported.',
    hint: 'Export it again with relay export, and carry the file over unchanged.',
  },
  legacy_export: {
    status: 400,
    exit: 4,
    message:
      'This is an export of a Go relay. It describes artifacts without their contents, and has no versions but the last. Nothing was imported.',
    hint: 'Take its threads over whole, from its home folder: relay import --legacy ~/.relay',
  },
  task_failed: {
    status: 500,
    message: 'The task failed: {what}',
    hint: 'See what the agent said: relay task show {id}',
  },
  agent_gone: {
    status: 503,
    message: 'The agent cannot be reached: {what}',
    hint: 'Start it, and start the bridge again.',
  },

  // The client's side: project files, models and pipelines.
  bad_file: {
    status: 422,
    message: '{file} cannot be used: {what} (line {line}, column {column}). It was left as it is.',
    hint: 'Correct it by hand at that place, then run the command again.',
  },
  conflicted: {
    status: 409,
    message: '{file} has a conflict that git left in it (line {line}). It was left as it is.',
    hint: 'Resolve it with: relay project merge',
  },
  no_project: {
    status: 404,
    message: 'There are no project files in {path}.',
    hint: 'Make them with: relay project init',
  },
  link_outside: {
    status: 409,
    message: '{link} is a symbolic link that leads out of {folder}, to {target}. It was not followed.',
    hint: 'Put a file in its place, or add --follow-links if you mean it.',
  },
  no_entry: {
    status: 404,
    message: '{file} has no {what}.',
    hint: 'List what it has with: {list}',
  },
  project_locked: {
    status: 503,
    exit: 1,
    message: 'The files in {path} are locked by another process ({who}).',
    hint: 'Try again. If nothing is at work there, delete {lock}',
  },
  no_model: {
    status: 400,
    message: 'There is no model to ask: {what}.',
    hint: 'Set ANTHROPIC_API_KEY, or choose another with --provider or --cli.',
  },
  provider_failed: {
    status: 502,
    message: '{provider} did not answer the prompt: {what}.',
    hint: 'Try again later, or ask another model with --provider and --model.',
  },
  provider_silent: {
    status: 504,
    exit: 5,
    message: '{provider} has said nothing for {seconds} seconds at {url}.',
    hint: 'See whether it is at work there. To wait longer, set RELAY_MODEL_TIMEOUT in seconds, or "model_timeout" in config.json; 0 waits for ever.',
  },
  provider_refused: {
    status: 502,
    exit: 4,
    message: '{provider} refused: {what}.',
    hint: 'Check the key in {key}, and that it may use the model {model}.',
  },
  model_unknown: {
    status: 400,
    message: '{provider} has no model "{model}" for you: {what}.',
    hint: 'Choose another with --model NAME, RELAY_MODEL, or "models" in config.json: {"models": {"{provider}": "NAME"}}. {list}',
  },
  tools_refused: {
    status: 502,
    message: '{provider} does not let {model} pull: {what}.',
    hint: 'Ask without tools: --no-tools.',
  },
  provider_unreachable: {
    status: 503,
    message: '{provider} cannot be reached at {url}: {what}.',
    hint: 'Check the address and the network.',
  },
  missing: {
    status: 404,
    message: 'There is no {what}.',
    hint: 'Check its name.',
  },
  bad_pipeline: {
    status: 400,
    message: '{what}',
    hint: 'Correct it, and look again with: relay pipeline validate {file}',
  },
  run_held: {
    status: 409,
    message: 'The run {run} is at work already: {holder} has held it since {since}.',
    hint: 'Wait until it is done, or stop it there. To take it from there at once: relay pipeline run --run {run} --take-over',
  },
  run_taken: {
    status: 409,
    message: 'The run {run} was taken over by {holder}; what was under way here is stopped and not recorded.',
    hint: 'See how it goes on there with: relay pipeline show {run}',
  },
  pipeline_failed: {
    status: 500,
    message: 'The pipeline did not finish: {what}.',
    hint: 'Put it right and go on with: relay pipeline run --run {run}',
  },

  // The program itself, how it was called, configured, started and reached, and the store below it.
  bad_usage: {
    status: 400,
    message: '{what}',
    hint: 'See relay {command} --help.',
  },
  bad_config: {
    status: 500,
    exit: 2,
    message: '{where}: {what}',
    hint: 'Correct it there, or remove it to get the default.',
  },
  aborted: {
    status: 499,
    message: 'Stopped before it was done: {what}.',
    hint: 'Nothing was stored. Try again.',
  },
  failed: {
    status: 500,
    message: '{what}',
    hint: 'Put that right and try again.',
  },
  port_taken: {
    status: 500,
    message: 'Port {port} on {host} is taken{by}.',
    hint: 'Choose another: relay up --port 0',
  },
  package_replaced: {
    status: 503,
    message:
      'The package of this server was replaced while it ran, and a part of it can no longer be loaded.',
    hint: 'Restart the server: relay down, then relay up.',
  },
  internal: {
    status: 500,
    message: 'Something went wrong inside the relay.',
    hint: 'Try again; if it stays, the log has the details under request {request}.',
  },
  unreachable: {
    status: 503,
    message: 'The relay at {what} does not answer.',
    hint: 'Check the address. On this machine, relay up starts one; without CONTEXTRELAY_URL the command line needs none.',
  },
  untrusted_certificate: {
    status: 502,
    exit: 5,
    message: 'The certificate of {what} is not trusted: {why}.',
    hint: 'If it is yours, name the certificate of whoever signed it: NODE_EXTRA_CA_CERTS=/path/to/ca.pem',
  },
  agent_unreachable: {
    status: 502,
    exit: 5,
    message: 'No agent answers at {url}: {what}',
    hint: 'Give the address of its host, of the agent itself, or of its card.',
  },
  busy: {
    status: 503,
    message: 'The store is busy: {what}.',
    hint: 'Try again in a moment.',
  },
  store_damaged: {
    status: 500,
    exit: 1,
    message: 'The store is damaged: {what}. It was left as it is.',
    hint: 'Restore a backup with relay restore, or move the file away to start anew.',
  },
  store_newer: {
    status: 503,
    exit: 1,
    message:
      'The store at {path} has format {found}; this program knows up to {known}. It was left as it is.',
    hint: `Install a newer ContextRelay: ${GET_NEWER}. Or point RELAY_HOME at another folder.`,
  },
  node_too_old: {
    status: 500,
    exit: 1,
    message: 'The store on this machine needs Node {since} or newer; this is {version}.',
    hint: 'contextrelay-runtime brings Node 26: {how}. With CONTEXTRELAY_URL the same commands ask a server, on this Node too.',
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
  store_unavailable: {
    status: 503,
    message: 'The store cannot be read and written. {what}',
    hint: 'See the log of the server.',
  },
  cluster_unavailable: {
    status: 503,
    message: 'The NATS cluster has not confirmed it within {seconds} seconds: {what}.',
    hint: 'It may have been stored. Try again in a moment, with the same Idempotency-Key; relay status tells how the cluster is.',
  },
  cluster_unusable: {
    status: 503,
    exit: 1,
    message: 'The NATS cluster at {url} cannot be used: {what}.',
    hint: '{todo}',
  },
  bucket_unavailable: {
    status: 503,
    message: 'Large bodies lie in {bucket}, which cannot be used for now: {what}.',
    hint: 'Everything else goes on. Try again in a moment; relay status tells what the server knows of the bucket.',
  },
  store_moving: {
    status: 503,
    message: 'The store is being moved to {to}, and takes nothing new for a few seconds.',
    hint: 'Nothing was stored. Try again in {seconds} seconds.',
  },
  store_moved: {
    status: 503,
    exit: 1,
    message: 'The store has moved to {to}. Here it can only be read.',
    hint: 'Start the relay on the store that it moved to; relay engine reopen STORE takes it back, with what was written there left behind.',
  },
  store_arriving: {
    status: 503,
    exit: 1,
    message: 'The store at {path} is still being copied from {from}.',
    hint: 'Let relay engine copy come to its end; called again it goes on where it was.',
  },
  store_full: {
    status: 507,
    message: 'There is no room left: {what}. Nothing was stored.',
    hint: 'Free some space, or run relay prune.',
  },
  no_store: {
    status: 404,
    message: 'There is no {what} at {path}.',
    hint: 'Check the path.',
  },
} as const satisfies Record<string, ErrorRow>;
