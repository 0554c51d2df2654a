import type { Commands } from '../command.ts';

/** Payloads behind pointers. */
export const POINTER_COMMANDS: Commands = {
  push: { summary: 'Store a payload and get a pointer to it', load: () => import('../commands/push.ts') },
  pull: { summary: 'Get a payload back, or only a part of it', load: () => import('../commands/pull.ts') },
  peek: {
    summary: 'Look at the metadata without touching the payload',
    load: () => import('../commands/peek.ts'),
  },
  rm: { summary: 'Revoke pointers at once', load: () => import('../commands/rm.ts') },
};
