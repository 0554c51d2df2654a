import type { Commands } from '../command.ts';

/** The server, and who may use it. */
export const SERVER_COMMANDS: Commands = {
  up: { summary: 'Run the relay server here', load: () => import('../commands/up.ts') },
  down: { summary: 'Stop the relay server that runs here', load: () => import('../commands/down.ts') },
  status: {
    summary: 'Tell whether a relay runs, where, and what it holds',
    load: () => import('../commands/status.ts'),
  },
  keys: {
    summary: 'API keys: who may do what on a relay that others can reach',
    commands: {
      create: {
        summary: 'Make a key; it is shown this once',
        load: () => import('../commands/keys/create.ts'),
      },
      list: {
        summary: 'List the keys: name, rights, last use',
        load: () => import('../commands/keys/list.ts'),
      },
      revoke: { summary: 'Revoke keys at once', load: () => import('../commands/keys/revoke.ts') },
      rotate: {
        summary: 'Make a new key in place of an old one',
        load: () => import('../commands/keys/rotate.ts'),
      },
    },
  },
  usage: { summary: 'Show what was used of the plan', load: () => import('../commands/usage.ts') },
  doctor: {
    summary: 'Check that everything works, and say what to do where not',
    load: () => import('../commands/doctor.ts'),
  },
};
