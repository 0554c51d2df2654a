import type { ErrorRow } from './row.ts';

/** The store below it all. */
export const STORE_ERRORS = {
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
  no_store: {
    status: 404,
    exit: 3,
    message: 'There is no {what} at {path}.',
    hint: 'Check the path.',
  },
} as const satisfies Record<string, ErrorRow>;
