import type { ErrorRow } from './row.ts';

/** Threads (patches, artifacts, capabilities, bundles) and tasks. */
export const THREAD_ERRORS = {
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
} as const satisfies Record<string, ErrorRow>;
