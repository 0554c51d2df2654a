import type { Commands } from '../command.ts';

/** Project files, and coding agents that use them. */
export const PROJECT_COMMANDS: Commands = {
  project: {
    summary: 'Project files: where a project stands, for sessions that remember nothing',
    commands: {
      init: {
        summary: 'Write PROJECT.md, state.json, todos.json and decisions.md',
        load: () => import('../commands/project/init.ts'),
      },
      start: {
        summary: 'The cold start: one bounded brief',
        load: () => import('../commands/project/start.ts'),
      },
      sync: {
        summary: 'The end of a session: write down where things stand',
        load: () => import('../commands/project/sync.ts'),
      },
      check: {
        summary: 'Check the files, and that no decision was rewritten',
        load: () => import('../commands/project/check.ts'),
      },
      handoff: {
        summary: 'Give a task to a sub-agent',
        load: () => import('../commands/project/handoff.ts'),
      },
      report: {
        summary: 'Report the result, as the sub-agent',
        load: () => import('../commands/project/report.ts'),
      },
      result: {
        summary: 'Read what a sub-agent reported',
        load: () => import('../commands/project/result.ts'),
      },
    },
  },
  todo: {
    summary: 'The todos of a project',
    commands: {
      add: { summary: 'Add a todo', load: () => import('../commands/todo/add.ts') },
      start: { summary: 'Start a todo', load: () => import('../commands/todo/start.ts') },
      done: { summary: 'Complete a todo', load: () => import('../commands/todo/done.ts') },
      block: {
        summary: 'Mark it blocked, with the reason',
        load: () => import('../commands/todo/block.ts'),
      },
      list: { summary: 'List what is open', load: () => import('../commands/todo/list.ts') },
      review: { summary: 'Go through all of them', load: () => import('../commands/todo/review.ts') },
    },
  },
  decide: { summary: 'Record a decision', load: () => import('../commands/decide.ts') },
  handoff: {
    summary: 'Hand the work over to another agent, with a bounded brief',
    load: () => import('../commands/handoff.ts'),
  },
  install: {
    summary: 'Set up a coding agent: skill, hooks and MCP entry',
    load: () => import('../commands/install.ts'),
  },
  hook: {
    summary: 'What a coding agent calls by itself',
    hidden: true,
    load: () => import('../commands/hook.ts'),
  },
};
