import type { Group } from './command.ts';
import type { Section } from './help.ts';

/** The whole command tree. A command's own file is loaded only when it is called. */
export const ROOT: Group = {
  summary: 'relay: agents hand each other a short pointer instead of the payload',
  commands: {
    up: { summary: 'Run the relay server here', load: () => import('./commands/up.ts') },
    down: { summary: 'Stop the relay server that runs here', load: () => import('./commands/down.ts') },
    status: {
      summary: 'Tell whether a relay runs, where, and what it holds',
      load: () => import('./commands/status.ts'),
    },
    doctor: {
      summary: 'Check that everything works, and say what to do where not',
      load: () => import('./commands/doctor.ts'),
    },
    demo: {
      summary: 'Play a hand-off between two agents and show the bill',
      load: () => import('./commands/demo.ts'),
    },
    push: { summary: 'Store a payload and get a pointer to it', load: () => import('./commands/push.ts') },
    pull: { summary: 'Get a payload back, or only a part of it', load: () => import('./commands/pull.ts') },
    peek: {
      summary: 'Look at the metadata without touching the payload',
      load: () => import('./commands/peek.ts'),
    },
    rm: { summary: 'Revoke pointers at once', load: () => import('./commands/rm.ts') },
    prune: { summary: 'Give back the space of what has expired', load: () => import('./commands/prune.ts') },
    du: { summary: 'Show what takes how much space', load: () => import('./commands/du.ts') },
    backup: {
      summary: 'Copy the whole store to a folder, while in use',
      load: () => import('./commands/backup.ts'),
    },
    restore: { summary: 'Bring a backup back', load: () => import('./commands/restore.ts') },
    project: {
      summary: 'Project files: where a project stands, for sessions that remember nothing',
      commands: {
        init: {
          summary: 'Write PROJECT.md, state.json, todos.json and decisions.md',
          load: () => import('./commands/project/init.ts'),
        },
        start: {
          summary: 'The cold start: one bounded brief',
          load: () => import('./commands/project/start.ts'),
        },
        sync: {
          summary: 'The end of a session: write down where things stand',
          load: () => import('./commands/project/sync.ts'),
        },
        check: {
          summary: 'Check the files, and that no decision was rewritten',
          load: () => import('./commands/project/check.ts'),
        },
        handoff: {
          summary: 'Give a task to a sub-agent',
          load: () => import('./commands/project/handoff.ts'),
        },
        report: {
          summary: 'Report the result, as the sub-agent',
          load: () => import('./commands/project/report.ts'),
        },
        result: {
          summary: 'Read what a sub-agent reported',
          load: () => import('./commands/project/result.ts'),
        },
      },
    },
    todo: {
      summary: 'The todos of a project',
      commands: {
        add: { summary: 'Add a todo', load: () => import('./commands/todo/add.ts') },
        start: { summary: 'Start a todo', load: () => import('./commands/todo/start.ts') },
        done: { summary: 'Complete a todo', load: () => import('./commands/todo/done.ts') },
        block: {
          summary: 'Mark it blocked, with the reason',
          load: () => import('./commands/todo/block.ts'),
        },
        list: { summary: 'List what is open', load: () => import('./commands/todo/list.ts') },
        review: { summary: 'Go through all of them', load: () => import('./commands/todo/review.ts') },
      },
    },
    decide: { summary: 'Record a decision', load: () => import('./commands/decide.ts') },
    handoff: {
      summary: 'Hand the work over to another agent, with a bounded brief',
      load: () => import('./commands/handoff.ts'),
    },
    install: {
      summary: 'Set up a coding agent: skill, hooks and MCP entry',
      load: () => import('./commands/install.ts'),
    },
    hook: {
      summary: 'What a coding agent calls by itself',
      hidden: true,
      load: () => import('./commands/hook.ts'),
    },
    completion: {
      summary: 'Print a completion script for a shell',
      load: () => import('./commands/completion.ts'),
    },
    version: { summary: 'Print the version', load: () => import('./commands/version.ts') },
  },
};

/** How `relay --help` groups them; what is not named here is listed under "More". */
export const SECTIONS: readonly Section[] = [
  { title: 'Hand over', names: ['push', 'pull', 'peek', 'rm'] },
  { title: 'Projects', names: ['project', 'todo', 'decide', 'handoff', 'install'] },
  { title: 'Server', names: ['up', 'down', 'status', 'doctor'] },
  { title: 'Housekeeping', names: ['prune', 'du', 'backup', 'restore'] },
];
