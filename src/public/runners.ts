import type { NodeRunners } from '../client/bridge/runner.ts';

export type {
  AcpOptions,
  ExecOptions,
  NodeRunners,
  RunnerOptions,
  TmuxOptions,
} from '../client/bridge/runner.ts';

/**
 * Runners that need Node: tmux, command and ACP. This file declares the types of `contextrelay/runners`. At run time,
 * package.json maps the import to the bundle of src/app/agents/node-runners.ts.
 */
export declare const nodeRunners: NodeRunners;
