import type { Commands } from '../command.ts';

/** Work for agents: the bridges that bring it to them, and the tasks themselves. */
export const TASK_COMMANDS: Commands = {
  bridge: {
    summary: 'Hand work to agents, and bring their results back',
    commands: {
      start: {
        summary: 'Give an agent the tasks of a channel',
        load: () => import('../commands/bridge/start.ts'),
      },
      send: {
        summary: 'Give a task to an agent behind a bridge',
        load: () => import('../commands/bridge/send.ts'),
      },
      list: { summary: 'List the bridges', load: () => import('../commands/bridge/list.ts') },
      status: {
        summary: 'Show what bridges are at, and what waits for them',
        load: () => import('../commands/bridge/status.ts'),
      },
    },
  },
  task: {
    summary: 'Tasks: what was given to agents, and what came back',
    commands: {
      list: { summary: 'List tasks, newest first', load: () => import('../commands/task/list.ts') },
      show: { summary: 'Show a task', load: () => import('../commands/task/show.ts') },
      done: { summary: 'Bring the result of a task', load: () => import('../commands/task/done.ts') },
      fail: {
        summary: 'Say that a task could not be done, and why',
        load: () => import('../commands/task/fail.ts'),
      },
      wait: {
        summary: 'Wait for the result of a task, and print it',
        load: () => import('../commands/task/wait.ts'),
      },
    },
  },
  agents: { summary: 'List who is there', load: () => import('../commands/agents.ts') },
};
