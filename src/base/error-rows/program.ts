import { GET_NEWER } from '../installing.ts';
import type { ErrorRow } from './row.ts';

/** The program itself, how it was called, configured, started and reached, and the store below it. */
export const PROGRAM_ERRORS = {
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
