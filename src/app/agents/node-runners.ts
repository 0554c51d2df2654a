import type { NodeRunners } from '../../client/bridge/runner.ts';

/** Runners of the package export `contextrelay/runners`. Each runner loads its code on first use. */
export const nodeRunners: NodeRunners = {
  exec: async (o) => (await import('../../runners/exec.ts')).execRunner(o),
  tmux: async (o) => new (await import('../../runners/tmux/tmux-runner.ts')).TmuxRunner(o),
  acp: async (o) => new (await import('../../runners/acp.ts')).AcpRunner(o),
};
