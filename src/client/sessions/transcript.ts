/** Coding agents whose transcripts can be read. */
export const SESSION_CLIENTS = ['claude', 'codex', 'gemini', 'opencode'] as const;
export type SessionClient = (typeof SESSION_CLIENTS)[number];

/** A session of a coding agent, as its transcript on this machine describes it. */
export interface SessionInfo {
  readonly client: SessionClient;
  /** Id that the client gave the session. */
  readonly id: string;
  /** Short name of four characters, such as `3f2a`. */
  readonly name: string;
  readonly folder: string;
  /** File that contains the transcript. OpenCode has one file for all sessions. */
  readonly file: string;
  /** Size of the transcript in bytes. */
  readonly bytes: number;
  /** Time of the last change, in ms. */
  readonly updatedAt: number;
  /** First prompt of the user. Null if none was found at the start of the transcript. */
  readonly task: string | null;
}

/** One entry of a session: a prompt, a message of the agent, a tool call with its result, or a compaction. */
export interface Turn {
  /** Position in the transcript, from 1. */
  readonly n: number;
  /** Time in ISO 8601. Null if the client recorded none. */
  readonly at: string | null;
  readonly who: 'user' | 'agent' | 'tool' | 'compaction';
  /** Words of the user or the agent, or the summary of a compaction. Empty for a tool call. */
  readonly text: string;
  readonly tool?: ToolUse;
  /** List of todos or steps of a plan, as the agent has just written it. */
  readonly todos?: readonly SessionTodo[];
  readonly model?: string;
  /** Tokens of the model call that made this turn, input and output together. */
  readonly tokens?: number;
  /**
   * True if the user went back to an earlier prompt, so that this turn is no longer part of the conversation.
   */
  readonly abandoned?: true;
}

export interface ToolUse {
  readonly name: string;
  /** The command, or the arguments as text. */
  readonly input: string;
  readonly output: string;
  readonly failed: boolean;
  /** Shell command. Undefined for other tools. */
  readonly command?: string;
  /** Exit code of a command. Null if unknown. */
  readonly exit?: number | null;
  readonly files: readonly FileUse[];
}

export interface FileUse {
  readonly path: string;
  readonly how: 'read' | 'created' | 'changed' | 'deleted';
}

export interface SessionTodo {
  readonly text: string;
  readonly status: string;
}

/** A turn that a search found. For a tool call, the text contains the tool with its input and output. */
export interface TurnHit extends Pick<Turn, 'n' | 'at' | 'who' | 'text'> {
  readonly session: SessionInfo;
}

/** Returns the text of a turn for reading and searching: the words, or the tool with its input and output. */
export function turnText({ text, tool, todos }: Turn): string {
  const list = (todos ?? []).map((todo) => `[${todo.status}] ${todo.text}`);
  if (tool === undefined) return [text, ...list].filter(Boolean).join('\n');
  const ended = tool.exit == null ? (tool.failed ? 'failed' : '') : `exit ${tool.exit}`;
  const head = tool.command === undefined ? `${tool.name} ${tool.input}` : `$ ${tool.command}`;
  return [head.trim(), ...(list.length > 0 ? list : [tool.output.trim()]), ended].filter(Boolean).join('\n');
}

/** Formats a turn as Markdown. `most` is the maximum number of characters of its text. */
export function turnMarkdown(turn: Turn, most = Number.POSITIVE_INFINITY): string {
  const when = turn.at === null ? '' : `, ${turn.at.slice(0, 19).replace('T', ' ')}`;
  const state = turn.abandoned ? ', abandoned' : '';
  const text = turnText(turn);
  const preview =
    text.length > most ? `${text.slice(0, most)}\n… ${text.length - most} more characters` : text;
  const body = turn.tool === undefined ? preview : fenced(preview);
  return `## ${turn.n} ${turn.who}${when}${state}\n\n${body}\n`;
}

/** Puts a text into a code block whose fence is longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

/** Formats search hits. For each turn, shows the part that contains the most words of the query. */
export function hitsText(hits: readonly TurnHit[], query: string): string {
  return hits
    .map(({ session, n, who, at, text }) => {
      const when = at === null ? '' : `, ${at.slice(0, 16).replace('T', ' ')}`;
      return `[session ${session.name} turn ${n}] ${session.client}, ${who}${when}\n${excerptOf(text, query)}`;
    })
    .join('\n\n');
}

/** Maximum number of characters that a search prints of a hit. */
const HIT_CHARS = 600;

function excerptOf(text: string, query: string): string {
  if (text.length <= HIT_CHARS) return text;
  const words = query.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  const small = text.toLowerCase();
  let best = { at: 0, score: -1 };
  for (let at = 0; at < text.length; at += HIT_CHARS / 4) {
    const window = small.slice(at, at + HIT_CHARS);
    const score = words.filter((word) => window.includes(word)).length;
    if (score > best.score) best = { at, score };
  }
  const end = best.at + HIT_CHARS;
  return `${best.at > 0 ? '…' : ''}${text.slice(best.at, end)}${end < text.length ? '…' : ''}`;
}
