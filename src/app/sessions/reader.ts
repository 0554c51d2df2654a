import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';
import { SESSION_HEAD_BYTES, SESSION_LINE_BYTES } from '../../base/limits.ts';
import type {
  FileUse,
  SessionClient,
  SessionInfo,
  SessionTodo,
  ToolUse,
  Turn,
} from '../../client/sessions/transcript.ts';

/** Folders and variables that say where a client stores its data. */
export interface Places {
  /** Home folder of the user. */
  readonly home: string;
  readonly env: { readonly [name: string]: string | undefined };
}

/** A transcript file. `Reader.describe` adds the other fields of a session. */
export type Candidate = Pick<SessionInfo, 'file' | 'bytes' | 'updatedAt'> & Partial<SessionInfo>;
export type Described = Pick<SessionInfo, 'id' | 'folder' | 'task'>;
export type RawTurn = Omit<Turn, 'n'>;

/** Number of lines that a reader skipped because it did not understand them. */
export interface Tally {
  skipped: number;
}

/** Reads the transcripts of one client. It never writes. */
export interface Reader {
  readonly client: SessionClient;
  /** Lists transcripts that may belong to the folder, or all transcripts if `folder` is null. Does not read them. */
  candidates(places: Places, folder: string | null): Candidate[];
  /**
   * Reads the beginning of a transcript. Returns null if the user did not start the session, for example if a
   * sub-agent did. May also return null for a session of another folder.
   */
  describe(candidate: Candidate, folder: string | null): Promise<Described | null>;
  /** Yields the turns of a session and counts skipped lines in `tally`. */
  turns(session: Pick<SessionInfo, 'id' | 'file'>, tally: Tally): AsyncGenerator<RawTurn>;
}

/**
 * Yields the JSON objects of a file, one per line. Omits a last line without a line feed, which is still
 * being written. Skips and counts lines that are not JSON objects or exceed `SESSION_LINE_BYTES`.
 */
export async function* jsonLines(file: string, tally: Tally): AsyncGenerator<JsonObject> {
  for await (const line of lines(file, tally)) {
    const value = jsonObjectIn(line);
    if (value === null) tally.skipped++;
    else yield value;
  }
}

/** Yields the lines of a file that end with a line feed. Skips and counts lines that are too long. */
export async function* lines(file: string, tally: Tally): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      size += end - from;
      if (size > SESSION_LINE_BYTES) tally.skipped++;
      else if (size > 0) yield Buffer.concat([...parts, chunk.subarray(from, end)]).toString();
      [parts, size, from] = [[], 0, end + 1];
    }
    size += chunk.length - from;
    if (size <= SESSION_LINE_BYTES) parts.push(chunk.subarray(from));
    else parts = [];
  }
}

/** Returns the JSON objects in the first `SESSION_HEAD_BYTES` of a file. */
export async function headOf(file: string): Promise<JsonObject[]> {
  const completeLines = (await startOf(file, SESSION_HEAD_BYTES)).split('\n').slice(0, -1);
  return completeLines.map((line) => jsonObjectIn(line)).filter((line) => line !== null);
}

/** Returns the first bytes of a file as text. */
export async function startOf(file: string, bytes: number): Promise<string> {
  await using opened = await open(file, 'r');
  const { bytesRead, buffer } = await opened.read(Buffer.alloc(bytes), 0, bytes, 0);
  return buffer.subarray(0, bytesRead).toString();
}

/** Returns whether `cwd` is `folder` or inside it. Returns true for every `cwd` if `folder` is null. */
export function isInside(cwd: string, folder: string | null): boolean {
  return folder === null || cwd === folder || cwd.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** Returns the string at a path of keys, or an empty string. */
export function textIn(value: unknown, ...path: string[]): string {
  const found = fieldIn(value, ...path);
  return typeof found === 'string' ? found : '';
}

/** Returns the value at a path of keys, or undefined. */
export function fieldIn(value: unknown, ...path: string[]): unknown {
  let found = value;
  for (const name of path) found = (found as JsonObject | null | undefined)?.[name];
  return found;
}

/** Returns the list at a path of keys, or an empty list. */
export function listIn(value: unknown, ...path: string[]): unknown[] {
  const found = fieldIn(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** Returns the text of a message: the content itself if it is a string, otherwise the texts of its parts, one per line. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return listIn(content)
    .map((part) => textIn(part, 'text'))
    .join('\n');
}

/** Formats the arguments of a tool: one line per argument, so that texts stay readable. */
export function argumentsText(input: unknown): string {
  if (typeof input === 'string') return input;
  if (typeof input !== 'object' || input === null) return '';
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n');
}

/**
 * Builds the turn of a tool call. A failed call lists no files. `todoText` is the name of the field with the
 * text of a todo.
 */
export function toolTurn(
  call: Pick<ToolUse, 'name' | 'output' | 'failed' | 'exit' | 'command'>,
  args: unknown,
  { path, how }: { readonly path: string; readonly how: FileUse['how'] | undefined },
  todoText: string,
) {
  const files: FileUse[] = how && path && !call.failed ? [{ path, how }] : [];
  const tool: ToolUse = { ...call, input: argumentsText(args), files };
  const todos = listIn(args, 'todos').map(
    (todo): SessionTodo => ({ text: textIn(todo, todoText), status: textIn(todo, 'status') }),
  );
  return { who: 'tool' as const, text: '', tool, ...(todos.length > 0 ? { todos } : {}) };
}

/** Matches texts that a client added to the messages of the user. */
const CLIENT_TEXT =
  /^\s*(?:<(?:session_context|environment_context|user_instructions|hook_context|hook_prompt|system-reminder|command-(?:name|message)|local-command-\w+|task-notification|turn_aborted|subagent_notification)\b|Caveat: The messages below|\[Request interrupted|# AGENTS\.md instructions)/;

/** Returns the part of a message that the user typed, without texts of the client. May be empty. */
export function userWords(text: string): string {
  const typed = text.replace(/<(system-reminder|hook_context)>[\s\S]*?<\/\1>/g, '').trim();
  return CLIENT_TEXT.test(typed) ? '' : typed;
}
