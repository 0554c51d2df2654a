import type { Commands } from '../command.ts';

/** Room, and copies. */
export const HOUSEKEEPING_COMMANDS: Commands = {
  prune: { summary: 'Give back the space of what has expired', load: () => import('../commands/prune.ts') },
  du: { summary: 'Show what takes how much space', load: () => import('../commands/du.ts') },
  backup: {
    summary: 'Copy the whole store to a folder, while in use',
    load: () => import('../commands/backup.ts'),
  },
  restore: { summary: 'Bring a backup back', load: () => import('../commands/restore.ts') },
};
