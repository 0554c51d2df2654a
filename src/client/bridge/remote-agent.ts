import type { JsonObject } from '../../base/json.ts';

/** An agent elsewhere, spoken to by A2A. */
export interface RemoteAgent {
  readonly card: JsonObject;
  /** Gives it a task and waits for the end. */
  run(task: AgentTask): Promise<AgentOutcome>;
  /** Gives it a task and does not wait. */
  submit(task: AgentTask): Promise<AgentOutcome>;
  find(id: string): Promise<AgentOutcome>;
  list(o: { readonly contextId?: string }): Promise<AgentOutcome[]>;
  cancel(id: string): Promise<AgentOutcome>;
  /** A part of an outcome as bytes; what is behind a URL is fetched, as far as a payload may be large. */
  read(part: AgentPart, signal?: AbortSignal): Promise<Uint8Array>;
}

export interface AgentTask {
  readonly text: string;
  /** Pointers or other URLs that go with it. */
  readonly attached?: readonly string[];
  readonly contextId?: string;
  readonly signal?: AbortSignal;
  /** Told of each new state. */
  onState?(outcome: AgentOutcome): void;
}

export interface AgentOutcome {
  readonly task_id: string | null;
  readonly context_id: string;
  /** `completed`, `failed`, `working`, … */
  readonly state: string;
  /** What the agent said about it. */
  readonly note: string | null;
  /** What came of it: words, and what is behind a URL. */
  readonly parts: readonly AgentPart[];
}

export type AgentPart =
  | { readonly text: string }
  | { readonly url: string; readonly name: string; readonly media_type: string };
