import type { Commands } from '../command.ts';
import { TASK_COMMANDS } from './tasks.ts';

/** Agents at work. */
export const AGENT_COMMANDS: Commands = {
  run: {
    summary: 'Ask a model something, with the memory of a thread',
    load: () => import('../commands/run.ts'),
  },
  wrap: {
    summary: 'Ask any program something, with the memory of a thread',
    commands: {
      run: {
        summary: 'Ask any program something, with the memory of a thread',
        load: () => import('../commands/wrap/run.ts'),
      },
      list: {
        summary: 'List the programs that are known, and which are here',
        load: () => import('../commands/wrap/list.ts'),
      },
    },
  },
  pipeline: {
    summary: 'Pipelines: steps of several agents, in parallel where they can be',
    commands: {
      run: {
        summary: 'Run a pipeline, or go on with a run',
        load: () => import('../commands/pipeline/run.ts'),
      },
      validate: {
        summary: 'Check a pipeline, and name the lines that are wrong',
        load: () => import('../commands/pipeline/validate.ts'),
      },
      graph: {
        summary: 'Draw a pipeline or a run of one',
        load: () => import('../commands/pipeline/graph.ts'),
      },
      list: { summary: 'List the runs there were', load: () => import('../commands/pipeline/list.ts') },
      show: { summary: 'Show what became of a run', load: () => import('../commands/pipeline/show.ts') },
    },
  },
  mcp: {
    summary: 'Serve MCP over standard input and output',
    load: () => import('../commands/mcp.ts'),
  },
  a2a: {
    summary: 'Agents elsewhere, by the A2A protocol',
    commands: {
      card: {
        summary: 'Show what an agent says of itself',
        load: () => import('../commands/a2a/card.ts'),
      },
      send: {
        summary: 'Give an agent a task and wait for what comes of it',
        load: () => import('../commands/a2a/send.ts'),
      },
      tasks: {
        summary: 'List the tasks an agent has from you, or show one',
        load: () => import('../commands/a2a/tasks.ts'),
      },
    },
  },
  ...TASK_COMMANDS,
};
