/** An agent that can be given tasks through this relay. */
export interface AgentEntry {
  readonly name: string;
  readonly description: string;
  /** Where tasks for it are put. */
  readonly task_channel: string;
  /** Where its results come from. */
  readonly done_channel: string;
}

/** Who can be called here. */
export interface AgentDirectory {
  list(): Promise<readonly AgentEntry[]>;
  find(name: string): Promise<AgentEntry | null>;
}

/** The relay's own: whoever of the bridges is free takes the task. */
export const RELAY_AGENT: AgentEntry = {
  name: 'relay',
  description: 'Hands tasks to the coding agents that listen on this relay, and their results back.',
  task_channel: 'agent-tasks',
  done_channel: 'agent-done',
};
