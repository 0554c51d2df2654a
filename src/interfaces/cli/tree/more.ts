import type { Commands } from '../command.ts';

/** What belongs nowhere else. */
export const MORE_COMMANDS: Commands = {
  demo: {
    summary: 'Play a hand-off between two agents and show the bill',
    load: () => import('../commands/demo.ts'),
  },
  completion: {
    summary: 'Print a completion script for a shell',
    load: () => import('../commands/completion.ts'),
  },
  version: { summary: 'Print the version', load: () => import('../commands/version.ts') },
};
