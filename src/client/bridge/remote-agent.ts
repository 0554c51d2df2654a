import type { Json, JsonObject } from '../../base/json.ts';

/** A remote agent, reached over A2A. */
export interface RemoteAgent {
  readonly card: JsonObject;
  /** Sends a task and waits for its end. */
  run(task: AgentTask): Promise<AgentOutcome>;
  /** Sends a task without waiting. */
  submit(task: AgentTask): Promise<AgentOutcome>;
  find(id: string): Promise<AgentOutcome>;
  list(o: { readonly contextId?: string }): Promise<AgentOutcome[]>;
  cancel(id: string): Promise<AgentOutcome>;
  /** Returns a part of an outcome as bytes. A URL is fetched, up to the size of a payload. */
  read(part: AgentPart, signal?: AbortSignal): Promise<Uint8Array>;
}

export interface AgentTask {
  readonly text: string;
  /** Message parts in the protocol's JSON, sent instead of the text. */
  readonly parts?: readonly JsonObject[];
  /** Pointers or other URLs sent along. */
  readonly attached?: readonly string[];
  readonly contextId?: string;
  /** Task that waits for this answer. */
  readonly taskId?: string;
  readonly signal?: AbortSignal;
  /** Called for each new state. */
  onState?(outcome: AgentOutcome): void;
}

export interface AgentOutcome {
  readonly task_id: string | null;
  readonly context_id: string;
  /** `completed`, `failed`, `working`, … */
  readonly state: string;
  /** The agent's status message. */
  readonly note: string | null;
  /** The results: text, and files by URL. */
  readonly parts: readonly AgentPart[];
}

export type AgentPart =
  | { readonly text: string }
  | { readonly data: Json }
  /** Bytes in base64. */
  | { readonly raw: string; readonly name: string; readonly media_type: string }
  | { readonly url: string; readonly name: string; readonly media_type: string };

/** Formats a part for a person: a URL as it is, bytes by their name. */
export function partText(part: AgentPart): string {
  if ('text' in part) return part.text;
  if ('url' in part) return part.url;
  return 'data' in part ? JSON.stringify(part.data, null, 2) : `(a file${part.name && `: ${part.name}`})`;
}
