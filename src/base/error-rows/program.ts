import type { ErrorRow } from './row.ts';

/** The program itself: how it was called, configured, started and reached. */
export const PROGRAM_ERRORS = {
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
    hint: 'Check the address. On this machine, relay up starts one; without CONTEXTRELAY_URL the command line needs none.',
  },
  agent_unreachable: {
    status: 502,
    exit: 5,
    message: 'No agent answers at {url}: {what}',
    hint: 'Give the address of its host, of the agent itself, or of its card.',
  },
} as const satisfies Record<string, ErrorRow>;
