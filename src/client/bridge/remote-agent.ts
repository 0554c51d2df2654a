import type { Json, JsonObject } from '../../base/json.ts';

/** An agent on another server. It is called over the A2A protocol. */
export interface RemoteAgent {
  readonly card: JsonObject;
  /** Sends a task and waits until the task ends or the agent asks a question. */
  run(task: AgentTask): Promise<AgentOutcome>;
  /** Sends a task and returns its first state, without waiting for the end. */
  submit(task: AgentTask): Promise<AgentOutcome>;
  find(id: string): Promise<AgentOutcome>;
  list(o: { readonly contextId?: string }): Promise<AgentOutcome[]>;
  cancel(id: string): Promise<AgentOutcome>;
  /**
   * Returns the bytes of a part. If the part is a URL, downloads the content, up to the maximum size of a
   * payload.
   */
  read(part: AgentPart, signal?: AbortSignal): Promise<Uint8Array>;
}

export interface AgentTask {
  readonly text: string;
  /** Message parts in the JSON of the A2A protocol. They are sent instead of `text`. */
  readonly parts?: readonly JsonObject[];
  /** Pointers or other URLs that are sent with the task. */
  readonly attached?: readonly string[];
  readonly contextId?: string;
  /** Id of the agent's earlier task that waits for this message, because the agent asked a question. */
  readonly taskId?: string;
  readonly signal?: AbortSignal;
  /** Called with each new state of the task. */
  onState?(outcome: AgentOutcome): void;
}

export interface AgentOutcome {
  readonly task_id: string | null;
  readonly context_id: string;
  /** State of the task, for example `completed`, `failed` or `working`. */
  readonly state: string;
  /** Status message of the agent. Null if there is none. */
  readonly note: string | null;
  /** Results of the task: text, data, and files as bytes or URLs. */
  readonly parts: readonly AgentPart[];
}

export type AgentPart =
  | { readonly text: string }
  | { readonly data: Json }
  /** A file, as bytes in base64. */
  | { readonly raw: string; readonly name: string; readonly media_type: string }
  | { readonly url: string; readonly name: string; readonly media_type: string };

/** Formats a part for people: text and URLs unchanged, data as JSON, and a file by its name. */
export function partText(part: AgentPart): string {
  if ('text' in part) return part.text;
  if ('url' in part) return part.url;
  return 'data' in part ? JSON.stringify(part.data, null, 2) : `(a file${part.name && `: ${part.name}`})`;
}
