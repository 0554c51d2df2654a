import type { JsonObject } from '../../../base/json.ts';
import type { Flags } from '../command.ts';
import { printable } from '../human.ts';

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
  /** A part of an outcome as bytes; what is behind a URL is fetched. */
  read(part: AgentPart): Promise<Uint8Array>;
}

export interface AgentTask {
  readonly text: string;
  readonly attached?: readonly string[];
  readonly contextId?: string;
  onState?(outcome: AgentOutcome): void;
}

export interface AgentOutcome {
  readonly task_id: string | null;
  readonly context_id: string;
  readonly state: string;
  readonly note: string | null;
  readonly parts: readonly AgentPart[];
}

export type AgentPart =
  | { readonly text: string }
  | { readonly url: string; readonly name: string; readonly media_type: string };

/** What every command about an agent understands. */
export const AGENT_FLAGS = {
  token: { value: 'TOKEN', help: 'sent to the agent as Bearer (A2A_TOKEN)' },
} as const satisfies Flags;

/** Everything an agent answered with, in words; what is behind a URL as its URL. */
export function outcomeText({ parts, note }: AgentOutcome, io: { readonly interactive: boolean }): string {
  const lines = parts.map((part) => ('text' in part ? part.text : part.url));
  const text = lines.length > 0 ? lines.join('\n') : (note ?? '');
  return io.interactive ? printable(text) : text;
}
