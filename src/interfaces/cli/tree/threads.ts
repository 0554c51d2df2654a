import type { Commands } from '../command.ts';

/** Threads: states, artifacts, capabilities. */
export const THREAD_COMMANDS: Commands = {
  init: { summary: 'Make the configuration and the storage', load: () => import('../commands/init.ts') },
  thread: {
    summary: 'Threads: versioned state, artifacts and events in one place',
    commands: {
      new: { summary: 'Begin a thread and print its id', load: () => import('../commands/thread/new.ts') },
      use: {
        summary: 'Choose the thread that is meant where none is named',
        load: () => import('../commands/thread/use.ts'),
      },
      list: { summary: 'The same as relay runs', load: () => import('../commands/runs.ts') },
      rm: {
        summary: 'Delete threads with everything in them',
        load: () => import('../commands/thread/rm.ts'),
      },
    },
  },
  runs: { summary: 'List recent threads, newest first', load: () => import('../commands/runs.ts') },
  show: {
    summary: 'Show what a thread is about and where it stands',
    load: () => import('../commands/show.ts'),
  },
  tail: {
    summary: 'Show the events of a thread, also as they happen',
    load: () => import('../commands/tail.ts'),
  },
  state: {
    summary: "A thread's memory: facts, decisions, plan, changed by JSON Patch",
    commands: {
      header: {
        summary: 'Print the bounded view that goes into a prompt',
        load: () => import('../commands/state/header.ts'),
      },
      get: {
        summary: 'Print the whole state, or a place of it, as it is or was',
        load: () => import('../commands/state/get.ts'),
      },
      patch: {
        summary: 'Change it by JSON Patch, whole or not at all',
        load: () => import('../commands/state/patch.ts'),
      },
      diff: {
        summary: 'Show what changed between two versions',
        load: () => import('../commands/state/diff.ts'),
      },
      revert: {
        summary: 'Go back to an earlier version, as a new one',
        load: () => import('../commands/state/revert.ts'),
      },
      log: { summary: 'List the versions, newest first', load: () => import('../commands/state/log.ts') },
      compact: {
        summary: 'Shorten a state that has grown long',
        load: () => import('../commands/state/compact.ts'),
      },
    },
  },
  artifact: {
    summary: 'Stored content of a thread: a ref and a preview travel, the rest is a pull away',
    commands: {
      put: {
        summary: 'Store a file and get a ref to it',
        load: () => import('../commands/artifact/put.ts'),
      },
      get: { summary: 'Get the content back', load: () => import('../commands/artifact/get.ts') },
      list: { summary: 'List them, newest first', load: () => import('../commands/artifact/list.ts') },
      search: { summary: 'Search them, best first', load: () => import('../commands/artifact/search.ts') },
    },
  },
  cap: {
    summary: 'Capabilities: what a thread can have done, with a cache',
    commands: {
      list: {
        summary: 'List what there is, and what each takes',
        load: () => import('../commands/cap/list.ts'),
      },
      invoke: { summary: 'Have one do something', load: () => import('../commands/cap/invoke.ts') },
    },
  },
  report: { summary: 'Tell a thread in one document', load: () => import('../commands/report.ts') },
  stats: {
    summary: 'Show what a thread has saved in tokens, counted',
    load: () => import('../commands/stats.ts'),
  },
  export: { summary: 'Write a whole thread into one file', load: () => import('../commands/export.ts') },
  import: {
    summary: 'Take in a thread that was exported, or those of a Go relay',
    load: () => import('../commands/import.ts'),
  },
  replay: {
    summary: 'Fold the events of a thread again and compare',
    load: () => import('../commands/replay.ts'),
  },
};
