import type { ErrorRow } from './row.ts';

/** Work given to agents. */
export const TASK_ERRORS = {
  task_failed: {
    status: 500,
    exit: 1,
    message: 'The task failed: {what}',
    hint: 'See what the agent said: relay task show {id}',
  },
  agent_gone: {
    status: 503,
    exit: 5,
    message: 'The agent cannot be reached: {what}',
    hint: 'Start it, and start the bridge again.',
  },
} as const satisfies Record<string, ErrorRow>;
