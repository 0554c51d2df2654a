import type { NodeRunners } from '../client/bridge/runner.ts';

export type {
  AcpOptions,
  ExecOptions,
  NodeRunners,
  RunnerOptions,
  TmuxOptions,
} from '../client/bridge/runner.ts';

/** Types of `contextrelay/runners`. At run time package.json leads Node to the bundle of src/app/agents/node-runners.ts. */
export declare const nodeRunners: NodeRunners;
