import type { Json, JsonObject } from '../../base/json.ts';

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
  /** Parts of a message in the protocol's JSON, sent in place of the text. */
  readonly parts?: readonly JsonObject[];
  /** Pointers or other URLs that go with it. */
  readonly attached?: readonly string[];
  readonly contextId?: string;
  /** A task that waits for an answer, which this is. */
  readonly taskId?: string;
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
  | { readonly data: Json }
  /** Bytes in base64. */
  | { readonly raw: string; readonly name: string; readonly media_type: string }
  | { readonly url: string; readonly name: string; readonly media_type: string };

/** For a person: what is behind a URL as its URL, bytes by their name. */
export function partText(part: AgentPart): string {
  if ('text' in part) return part.text;
  if ('url' in part) return part.url;
  return 'data' in part ? JSON.stringify(part.data, null, 2) : `(a file${part.name && `: ${part.name}`})`;
}
