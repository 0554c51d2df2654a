import { GET_NEWER } from './installing.ts';

/**
 * One error. In a text, `{name}` is replaced by the detail with this name, and `{name:bytes}` by the detail as a
 * number of bytes.
 */
export interface ErrorRow {
  readonly status: number;
  /** Exit code of the CLI. By default, the HTTP status determines it (see `exitOf`). */
  readonly exit?: 1 | 2 | 3 | 4 | 5;
  readonly message: string;
  /** Says what to do next. May name HTTP headers and parameters. The detail `hint` of an error overrides it. */
  readonly hint: string;
  /**
   * Hint for the CLI, with commands and flags. Required if `hint` names HTTP headers or parameters. May not contain
   * `{name}`.
   */
  readonly cli?: string;
  /** Hint for a model that called an MCP tool. May not contain `{name}`. */
  readonly mcp?: string;
}

/**
 * All errors by code: HTTP status, exit code of the CLI, message, and a hint about what to do next. Clients rely on
 * the codes and on the HTTP statuses.
 */
export const ERRORS = {
  // Requests: their input, authentication, permissions and limits.
  bad_request: {
    status: 400,
    message: '{what}',
    hint: 'Correct the request and send it again.',
    cli: 'Correct it and run the command again.',
    mcp: 'Correct the arguments and call the tool again.',
  },
  bad_json: {
    status: 400,
    message: 'The body is not valid JSON: {what}.',
    hint: 'Send a JSON object. To push raw bytes, set another Content-Type, such as text/plain.',
    cli: 'Correct the JSON and run the command again.',
  },
  empty_payload: {
    status: 400,
    message: 'There is nothing to store: the payload is empty.',
    hint: 'Send at least one byte, as the body or in "data".',
    cli: 'Name a file that is not empty, or pipe something in.',
    mcp: 'Pass at least one character.',
  },
  bad_part: {
    status: 400,
    message: 'Cannot read this part: {what}.',
    hint: 'Use lines=10-40, grep=PATTERN, json=/a/b, question=TEXT or outline=1, one at a time.',
    cli: 'Use --lines 10-40, --grep PATTERN, --json-pointer /a/b, --question TEXT or --outline, one at a time.',
    mcp: 'Pass lines=10-40, grep=PATTERN, json=/a/b, question=TEXT, outline or all.',
  },
  bad_url: {
    status: 400,
    message: 'Not a pointer: {what}.',
    hint: 'A pointer looks like https://host/pull/<uuid>. An encrypted pointer also has #key=… at its end.',
  },
  unauthorized: {
    status: 401,
    message: 'Missing or invalid API key.',
    hint: 'Send Authorization: Bearer cr_live_…, or set CONTEXTRELAY_API_KEY.',
    cli: 'Set CONTEXTRELAY_API_KEY to a key of that relay. Its operator can create one with relay keys create.',
  },
  over_quota: {
    status: 402,
    message: 'The monthly limit of {limit} {what} is used up ({used}); it resets at {reset}.',
    hint: 'Wait for the reset, or ask the operator for a larger plan. Pulls still work.',
  },
  over_storage: {
    status: 402,
    message:
      'The plan {plan} allows {limit} bytes for threads, files and channel messages. {used} bytes are used, and this needs {needed} more.',
    hint: 'Delete threads (relay thread rm), artifacts (relay artifact rm) or files (relay file rm), wait until channel messages expire, or ask the operator for a larger plan. Reading and deleting still work.',
  },
  too_many_keys: {
    status: 402,
    message: 'The plan {plan} allows {limit} keys, and all of them are in use.',
    hint: 'Revoke a key with relay keys revoke, or ask the operator for a larger plan.',
  },
  forbidden: {
    status: 403,
    message: '{what}',
    hint: 'Use a key with the required scope, or ask the operator of this relay.',
  },
  foreign_origin: {
    status: 403,
    message: 'Refused: this relay does not accept requests for {what}.',
    hint: 'Use the relay\'s own address, or add the host to "allowed_hosts" or the origin to "cors_origins" in its config.json.',
  },
  // For a handle, such as relay:128, the hint is in src/domain/pointers/record.ts.
  not_found: {
    status: 404,
    message: 'Not found: {what} does not exist, has expired, or is not yours.',
    hint: 'Check the name, id or pointer. If a pointer has expired, ask its sender to push again.',
  },
  no_route: {
    status: 404,
    message: 'This relay has no route {method} {path}.',
    hint: 'GET /openapi.json lists the routes of this relay.',
    cli: 'Check the address. The relay there may be older than this command.',
  },
  method_not_allowed: {
    status: 405,
    message: '{path} does not support {method}.',
    hint: 'Use one of: {allowed}.',
    cli: 'Check the address. The relay there may be older than this command.',
  },
  not_acceptable: {
    status: 406,
    message: 'This endpoint returns bytes, and the request has no Accept header.',
    hint: 'Send Accept: application/octet-stream or Accept: */*. To get the preview, remove /content from the path.',
    cli: 'Read the content with relay artifact get.',
  },
  timeout: {
    status: 408,
    message: 'Timed out: {what}.',
    hint: 'Try again. For a large payload on a slow connection, pass a larger `timeout` to the client.',
    cli: 'Try again. On a slow connection, push a large payload in several parts.',
  },
  conflict: {
    status: 409,
    message: '{what}',
    hint: 'Read the current version and try again.',
  },
  unknown_agent: {
    status: 404,
    message: 'There is no agent called {name}.{near}',
    hint: 'GET /agents lists the agents. Send "queue": true to store the message for an agent that has not started yet.',
    cli: 'List the agents with relay agents. Use --queue to store the message for an agent that has not started yet.',
    mcp: 'Call agents to list the names.',
  },
  conversation_limit: {
    status: 409,
    message: 'The conversation {id} has {count} messages. A person has to allow more.',
    hint: 'Stop and tell your user. A person can allow more with: relay conversations {id} --proceed',
  },
  claimed: {
    status: 409,
    message: '{by} holds {what} for {left}.',
    hint: 'Work on something else, or ask the holder to release it.',
  },
  idempotency_conflict: {
    status: 409,
    message: 'This Idempotency-Key was already used with different content.',
    hint: 'Use a new key for new content. Repeat a key only to retry exactly the same request.',
    cli: 'Use a new key for new content. Repeat a key only to retry exactly the same command.',
  },
  file_changed: {
    status: 412,
    message: 'Nothing was changed: the file {path} is {current}.',
    hint: 'Read the file again, repeat the change, and send it with If-Match and the current ETag.',
    cli: 'See its current version with relay file log, and pass that version to --if-match.',
  },
  too_large: {
    status: 413,
    message: 'Too large: {what} is limited to {limit:bytes}.',
    hint: 'Make it smaller, or push it in parts and hand over several pointers.',
  },
  range_not_satisfiable: {
    status: 416,
    message: 'The range is outside the content, which has {size} bytes.',
    hint: 'Get the size first with a HEAD request.',
    cli: 'See the size with: relay peek <url>',
  },
  not_text: {
    status: 422,
    message: 'This payload is not text, so it has no {what}.',
    hint: 'Pull the raw bytes, or a range of them.',
    cli: 'Save the payload to a file: relay pull <url> --out FILE',
  },
  not_json: {
    status: 422,
    message: 'This payload is not JSON: {what}.',
    hint: 'Use lines or grep instead.',
    cli: 'Use --lines or --grep instead.',
  },
  too_costly: {
    status: 422,
    message: 'Stopped: this request needs too much {what}.',
    hint: 'Ask for less: read a smaller part, search more narrowly, or use a version closer to the current one.',
  },
  upgrade_required: {
    status: 426,
    message: 'This address accepts WebSocket connections only.',
    hint: 'Connect with ws:// or wss://. Over plain HTTP, use GET /channels/NAME/events.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests; try again in {seconds} s.',
    hint: 'Wait as long as the Retry-After header says, and send fewer requests.',
    cli: 'Wait, then run the command again.',
    mcp: 'Wait, then call the tool again.',
  },
  overloaded: {
    status: 503,
    message: 'The relay is busy: too many long texts are waiting to be processed.',
    hint: 'Try again in {seconds} s, or pull the payload and process it yourself.',
  },
  decrypt_failed: {
    status: 400,
    exit: 4,
    message: 'Failed to decrypt: the key does not match this payload.',
    hint: 'Use the whole URL as you received it, with everything after #key=.',
  },
  key_missing: {
    status: 400,
    exit: 4,
    message: 'Failed to decrypt: the payload is encrypted, and the URL has no key.',
    hint: 'Ask the sender for the whole URL. It ends with #key=….',
  },
  bad_key: {
    status: 400,
    exit: 4,
    message: 'Failed to decrypt: the key is damaged ({what}).',
    hint: 'Use the whole URL as you received it. The usual cause is a line break or a missing end.',
  },

  // Threads (patches, artifacts, capabilities, bundles) and tasks.
  version_conflict: {
    status: 409,
    message: 'The state is at {current}, not at {expected}.',
    hint: 'Read the state again, update the patch, and send it with If-Match: {current}.',
    cli: 'Read the state again with relay state get, and update the patch for the current version.',
    mcp: 'Read the thread again, update the patch, and pass the current version.',
  },
  patch_test_failed: {
    status: 409,
    message:
      'Operation {index} ({op} {path}) failed: the current value is not the expected one. Nothing was changed.',
    hint: 'The state has changed since the patch was made. Read it again and update the patch.',
  },
  bad_patch: {
    status: 400,
    message: 'Operation {index} ({op} {path}): {what}. Nothing was changed.',
    hint: 'A patch is a JSON array of operations (RFC 6902), such as [{"op":"add","path":"/facts/-","value":{…}}].',
  },
  state_invalid: {
    status: 422,
    message: 'The patch would make the state invalid at {path}: {what}. Nothing was changed.',
    hint: 'relay state patch --help lists the fields of the state.',
  },
  state_too_large: {
    status: 413,
    message: 'The state would have {size} bytes, and the limit is {limit}. Nothing was changed.',
    hint: 'The largest parts are {parts}. Remove old entries, move long texts into artifacts, or run relay state compact.',
  },
  too_many_hops: {
    status: 429,
    message: 'This thread has reached its limit of {limit} hops between agents.',
    hint: 'Start a new thread for the remaining work, or find out why the agents keep answering each other.',
  },
  artifact_deleted: {
    status: 410,
    exit: 3,
    message: 'The content of artifact {ref} was permanently deleted at {at}.',
    hint: 'Its hash and its events remain. If you need the content, store it again.',
  },
  bad_arguments: {
    status: 400,
    message: 'The arguments of {capability} are not valid: {what}.',
    hint: 'See its arguments with: relay cap list',
  },
  capability_failed: {
    status: 502,
    message: '{capability} failed: {what}.',
    hint: 'Correct the arguments, or try again later.',
  },
  bad_bundle: {
    status: 400,
    exit: 4,
    message: 'The bundle is not valid: {what}. Nothing was imported.',
    hint: 'Export the thread again with relay export, and copy the file unchanged.',
  },
  legacy_export: {
    status: 400,
    exit: 4,
    message:
      'This is an export of a Go relay. It has no artifact contents, and only the last version of the state. Nothing was imported.',
    hint: 'Import complete threads from its home folder: relay import --legacy ~/.relay',
  },
  task_failed: {
    status: 500,
    message: 'The task failed: {what}',
    hint: 'See the output of the agent: relay task show {id}',
  },
  agent_gone: {
    status: 503,
    message: 'The agent cannot be reached: {what}',
    hint: 'Start the agent, then restart its bridge.',
  },

  // Client side: project files, models and pipelines.
  bad_file: {
    status: 422,
    message: '{file} cannot be used: {what} (line {line}, column {column}). It was left as it is.',
    hint: 'Correct the file there by hand, then run the command again.',
  },
  conflicted: {
    status: 409,
    message: '{file} contains git conflict markers (line {line}). It was left as it is.',
    hint: 'Resolve the conflict with: relay project merge',
  },
  no_project: {
    status: 404,
    message: 'There are no project files in {path}.',
    hint: 'Create them with: relay project init',
  },
  no_session: {
    status: 404,
    message: '{what}',
    hint: 'List the sessions with: relay session list --all',
  },
  sessions_off: {
    status: 403,
    message: 'This relay does not read transcripts of coding agents: the option sessions is off.',
    hint: 'Turn it on with: relay config set sessions on',
  },
  link_outside: {
    status: 409,
    message: '{link} is a symbolic link to {target}, which is outside {folder}. It was not followed.',
    hint: 'Replace the link with a file, or add --follow-links to allow it.',
  },
  no_entry: {
    status: 404,
    message: '{file} has no {what}.',
    hint: 'List its entries with: {list}',
  },
  project_locked: {
    status: 503,
    exit: 1,
    message: 'The files in {path} are locked by another process ({who}).',
    hint: 'Try again. If no process uses the files, delete {lock}',
  },
  no_model: {
    status: 400,
    message: 'No model is configured: {what}.',
    hint: 'Set ANTHROPIC_API_KEY, or choose another model with --provider or --cli.',
  },
  provider_failed: {
    status: 502,
    message: '{provider} did not answer the prompt: {what}.',
    hint: 'Try again later, or ask another model with --provider and --model.',
  },
  provider_silent: {
    status: 504,
    exit: 5,
    message: '{provider} at {url} has sent nothing for {seconds} seconds.',
    hint: 'Check that it is running. To wait longer, set RELAY_MODEL_TIMEOUT (in seconds) or "model_timeout" in config.json. 0 means no limit.',
  },
  provider_refused: {
    status: 502,
    exit: 4,
    message: '{provider} refused the request: {what}.',
    hint: 'Check the key in {key}, and that it may use the model {model}.',
  },
  model_unknown: {
    status: 400,
    message: '{provider} does not offer the model "{model}" to you: {what}.',
    hint: 'Choose another model with --model NAME, RELAY_MODEL, or "models" in config.json: {"models": {"{provider}": "NAME"}}. {list}',
  },
  tools_refused: {
    status: 502,
    message: '{provider} does not support tools for {model}: {what}.',
    hint: 'Run it without tools: --no-tools',
  },
  provider_unreachable: {
    status: 503,
    message: '{provider} cannot be reached at {url}: {what}.',
    hint: 'Check the address and the network.',
  },
  missing: {
    status: 404,
    message: 'There is no {what}.',
    hint: 'Check the name.',
  },
  bad_pipeline: {
    status: 400,
    message: '{what}',
    hint: 'Correct the file, then check it with: relay pipeline validate {file}',
  },
  run_held: {
    status: 409,
    message: 'The run {run} is already running: {holder} has held it since {since}.',
    hint: 'Wait until the run is done, or stop that process. To take the run over now: relay pipeline run --run {run} --take-over',
  },
  run_taken: {
    status: 409,
    message:
      'The run {run} was taken over by {holder}. This process has stopped its steps; they are not recorded.',
    hint: 'See its progress with: relay pipeline show {run}',
  },
  pipeline_failed: {
    status: 500,
    message: 'The pipeline did not finish: {what}.',
    hint: 'Fix the cause, then continue with: relay pipeline run --run {run}',
  },

  // The program: its usage, configuration, start, network and store.
  bad_usage: {
    status: 400,
    message: '{what}',
    hint: 'See relay {command} --help.',
  },
  bad_config: {
    status: 500,
    exit: 2,
    message: '{where}: {what}',
    hint: 'Correct the setting, or remove it to use the default.',
  },
  aborted: {
    /** 499 is not a standard status, so over HTTP the relay answers 400 (src/interfaces/http/request-watch.ts). */
    status: 499,
    message: 'Stopped: {what}.',
    hint: 'Try again.',
  },
  failed: {
    status: 500,
    message: '{what}',
    hint: 'Fix the cause and try again.',
  },
  port_taken: {
    status: 500,
    message: 'Port {port} on {host} is in use{by}.',
    hint: 'Use a free port: relay up --port 0',
  },
  package_replaced: {
    status: 503,
    message:
      'The package of this server was replaced while it was running. Some of its code can no longer be loaded.',
    hint: 'Restart the server: relay down, then relay up.',
  },
  internal: {
    status: 500,
    message: 'Something went wrong inside the relay.',
    hint: 'Try again. If the error stays, find the details in the log of the server under request {request}.',
  },
  unreachable: {
    status: 503,
    message: 'The relay at {what} does not answer.',
    hint: 'Check the address. To start a relay on this machine, run relay up. Without CONTEXTRELAY_URL, commands use the local store and need no server.',
  },
  untrusted_certificate: {
    status: 502,
    exit: 5,
    message: 'The certificate of {what} is not trusted: {why}.',
    hint: 'If the server is yours, set the certificate of the CA that signed it: NODE_EXTRA_CA_CERTS=/path/to/ca.pem',
  },
  agent_unreachable: {
    status: 502,
    exit: 5,
    message: 'No agent answers at {url}: {what}',
    hint: 'Pass the URL of the agent, of the host that runs it, or of its agent card.',
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
    hint: 'Restore a backup with relay restore. Or move the store to another folder to start with an empty one.',
  },
  store_newer: {
    status: 503,
    exit: 1,
    message:
      'The store at {path} has format {found}; this program supports formats up to {known}. It was left as it is.',
    hint: `Install a newer ContextRelay: ${GET_NEWER}. Or set RELAY_HOME to another folder.`,
  },
  node_too_old: {
    status: 500,
    exit: 1,
    message: 'The local store needs Node {since} or newer; this is Node {version}.',
    hint: 'Install Node 26 with contextrelay-runtime: {how}. Or set CONTEXTRELAY_URL to use a server, which works with this Node too.',
  },
  store_foreign: {
    status: 503,
    exit: 1,
    message: 'The database at {path} belongs to another program. It was left as it is.',
    hint: 'Set RELAY_HOME to another folder. If it is the database of a Go relay, import it with relay import --legacy.',
  },
  store_unusable: {
    status: 503,
    exit: 1,
    message: 'The store at {path} cannot be used: {what}.',
    hint: 'Check the owner and the permissions of the folder, or set RELAY_HOME to another folder.',
  },
  store_unavailable: {
    status: 503,
    message: 'The store cannot be read or written. {what}',
    hint: 'See the log of the server.',
  },
  cluster_unavailable: {
    status: 503,
    message: 'The NATS cluster did not confirm the operation within {seconds} seconds: {what}.',
    hint: '{todo} See the state of the cluster with: relay status',
  },
  cluster_unusable: {
    status: 503,
    exit: 1,
    message: 'The NATS cluster at {url} cannot be used: {what}.',
    hint: '{todo}',
  },
  bucket_unavailable: {
    status: 503,
    message: 'Large payloads are stored in {bucket}, which is not available now: {what}.',
    hint: 'Everything else still works. Try again in a moment. See the state of the bucket with: relay status',
  },
  store_moving: {
    status: 503,
    message: 'The store is being moved to {to} and accepts no writes for a few seconds.',
    hint: 'Nothing was stored. Try again in {seconds} seconds.',
  },
  store_moved: {
    status: 503,
    exit: 1,
    message: 'The store has moved to {to}. This copy is read-only.',
    hint: 'Start the relay with the new store. To use this copy again, run relay engine reopen STORE. It lacks everything that was written to the new store since the move.',
  },
  store_not_moved: {
    status: 503,
    exit: 1,
    message: 'The data of an earlier version of this Worker was not moved yet.',
    hint: 'Move it with one command: npm run move:cloudflare -- --to URL. docs/cloudflare.md explains it.',
  },
  store_arriving: {
    status: 503,
    exit: 1,
    message: 'The store at {path} is still being copied from {from}.',
    hint: 'Wait until relay engine copy is done. If it was interrupted, run it again: it continues where it stopped.',
  },
  store_full: {
    status: 507,
    message: 'The store has no room left: {what}. Nothing was stored.',
    hint: 'Free some disk space, or run relay prune.',
  },
  no_store: {
    status: 404,
    message: 'There is no {what} at {path}.',
    hint: 'Check the path.',
  },
} as const satisfies Record<string, ErrorRow>;
