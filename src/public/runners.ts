import type { NodeRunners } from '../client/bridge/runners.ts';

export type {
  AcpOptions,
  ExecOptions,
  NodeRunners,
  RunnerOptions,
  TmuxOptions,
} from '../client/bridge/runners.ts';

/** Types of `contextrelay/runners`. At run time package.json leads Node to the bundle of src/app/agents/node-runners.ts. */
export declare const nodeRunners: NodeRunners;
