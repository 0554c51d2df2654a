import { RelayError } from '../../base/errors.ts';
import { JsonDocument, type JsonPath } from '../../formats/json-document.ts';
import { type JsonNode, JsonSyntaxError, placeOf } from '../../formats/json-syntax.ts';

/** The four project files, in the order in which a cold start reads them. */
export const PROJECT_MD = 'PROJECT.md';
export const STATE_JSON = 'state.json';
export const TODOS_JSON = 'todos.json';
export const DECISIONS_MD = 'decisions.md';
export const PROJECT_FILES = [PROJECT_MD, STATE_JSON, TODOS_JSON, DECISIONS_MD] as const;

/** Folder for data of this machine: the lock, the seal of the decisions, the time of the last reminder. */
export const LOCAL_FOLDER = '.relay';

export interface FileText {
  /** Content as on disk, including a byte order mark and its line ends. */
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** A project's folder. Names are relative to it, with forward slashes. */
export interface ProjectFiles {
  /** Path for messages to people. */
  readonly folder: string;
  /** Throws if a symbolic link leads a path out of the folder; `read` and `write` do so too. */
  needInside(name: string): Promise<void>;
  /** Returns whether a file or folder exists. */
  has(name: string): Promise<boolean>;
  /** Returns null if there is no such file. Throws if it is not UTF-8 or too large. */
  read(name: string): Promise<FileText | null>;
  /** Replaces a file atomically. Call it only inside `locked`. */
  write(name: string, text: string): Promise<void>;
  /** Returns the sorted names directly in the folder or in one below it. */
  list(below?: string): Promise<readonly { readonly name: string; readonly folder: boolean }[]>;
  /** Runs `work` while no other process or call is inside `locked` of the same folder. */
  locked<T>(work: () => Promise<T>): Promise<T>;
}

export interface Commit {
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly subject: string;
}

/** State of a repository. Before the first commit there is no commit; on a detached HEAD there is no branch. */
export interface GitStatus {
  readonly branch: string | null;
  readonly commit: string | null;
  /** Differences from the last commit, as `git status` abbreviates them, without the project files. */
  readonly inFlight: readonly { readonly path: string; readonly state: string }[];
}

/** A commit that changed a file. */
export interface FileChange {
  readonly commit: string;
  /** The file before the commit, one text per parent in a merge; empty if it was added. */
  readonly before: readonly string[];
  /** Empty if the commit deleted the file. */
  readonly after: string;
}

export interface MergedCommits {
  /** Null if the two have no common ancestor. */
  readonly base: string | null;
  readonly ours: string;
  readonly theirs: string;
}

export interface MergedFile {
  readonly text: string;
  /** True if both sides changed the same lines and the text has conflict markers. */
  readonly conflict: boolean;
}

/** What a project needs from the git repository around its folder. */
export interface ProjectGit {
  /** Newest first. */
  commits(o: { readonly since?: number; readonly limit: number }): Promise<readonly Commit[]>;
  status(): Promise<GitStatus>;
  /** Returns added and removed lines per file since the last commit. Binary and untracked files are missing. */
  changedLines(): Promise<ReadonlyMap<string, { readonly added: number; readonly removed: number }>>;
  /**
   * Returns the newest `limit` commits that changed a file, in all branches of history, parents first. A merge that
   * took the file unchanged from one side is left out.
   */
  history(name: string, limit: number): Promise<readonly FileChange[]>;
  /** Returns the commits of a merge, rebase or cherry-pick in progress; null if there is none. */
  merging(): Promise<MergedCommits | null>;
  /** Returns a file as of a commit; empty if it has none. */
  textIn(commit: string, name: string): Promise<string>;
  /** Marks conflicts in these files as resolved. */
  resolved(names: readonly string[]): Promise<void>;
  /** Merges lines of text as git does, with conflict markers. */
  mergeLines(sides: Sides): Promise<MergedFile>;
  /** Returns whether the repository is a shallow clone. */
  isShallow(): Promise<boolean>;
  /** Returns the remote's address without a password. */
  remote(): Promise<string | null>;
  /** Commits only these files; returns null if there was nothing to commit. */
  commit(names: readonly string[], message: string): Promise<string | null>;
}

/** Formats a time as `2026-04-20T10:00:00+08:00`: in seconds, with this machine's offset. */
export function stamp(at: number): string {
  const zone = -new Date(at).getTimezoneOffset();
  const local = new Date(at + zone * 60_000).toISOString().slice(0, 19);
  const minutes = Math.abs(zone);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${local}${zone < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** Parses a time; null if it is missing or invalid. */
export function timeOf(text: unknown): number | null {
  const at = typeof text === 'string' && /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

export function ago(at: number, now: number): string {
  const seconds = Math.round((now - at) / 1000);
  if (seconds < -60) return `dated ${span(-seconds)} in the future`;
  return seconds < 60 ? 'just now' : `${span(seconds)} ago`;
}

function span(seconds: number): string {
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  const hours = seconds / 3600;
  return hours < 48 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} days`;
}

const BEGIN = /^<{7}(?: |$)/;
const BASE = /^\|{7}(?: |$)/;
const MIDDLE = /^={7}$/;
const END = /^>{7}(?: |$)/;

/** Returns the first line, counted from 1, of a git conflict; null if there is none. */
export function conflictLine(text: string): number | null {
  const lines = text.split(/\r\n|\n|\r/);
  const begin = lines.findIndex((line) => BEGIN.test(line));
  const middle = lines.findIndex((line, index) => index > begin && MIDDLE.test(line));
  const end = lines.findIndex((line, index) => index > middle && END.test(line));
  return begin >= 0 && middle >= 0 && end >= 0 ? begin + 1 : null;
}

/** Throws if git left a conflict in the file, which must not be written to. */
export function needResolved(file: string, text: string): void {
  const line = conflictLine(text);
  if (line !== null) throw new RelayError('conflicted', { file, line });
}

/** A file before two sides changed it, and as each side has it. */
export interface Sides {
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}

/** Returns the sides of a file with conflict markers. The base is known only if git shows it (diff3). */
export function sidesOf(text: string): Sides {
  const sides = { base: '', ours: '', theirs: '' };
  let side: keyof typeof sides | null = null;
  for (const line of text.split(/(?<=\r\n|\n|\r(?!\n))/)) {
    const bare = line.replace(/[\r\n]+$/, '');
    if (side === null && BEGIN.test(bare)) side = 'ours';
    else if (side === 'ours' && BASE.test(bare)) side = 'base';
    else if ((side === 'ours' || side === 'base') && MIDDLE.test(bare)) side = 'theirs';
    else if (side === 'theirs' && END.test(bare)) side = null;
    else {
      for (const each of side === null ? (['base', 'ours', 'theirs'] as const) : [side]) sides[each] += line;
    }
  }
  return sides;
}

/** Opens a JSON project file for reading and for edits that keep its formatting. */
export function openJsonFile(file: string, text: string): JsonDocument {
  let doc: JsonDocument;
  try {
    doc = new JsonDocument(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    needResolved(file, text);
    throw new RelayError('bad_file', { file, what: error.what, line: error.line, column: error.column });
  }
  if (doc.root.kind !== 'object') {
    const what = 'it must contain a JSON object';
    throw new RelayError('bad_file', { file, what, ...placeOf(text, doc.root.start) });
  }
  return doc;
}

/** Throws if the value at a path has another kind, so that nothing is written there. */
export function needKind(file: string, doc: JsonDocument, path: JsonPath, kind: 'object' | 'array'): void {
  const node = doc.find(path);
  if (!node || node.kind === kind) return;
  const what = `"${path.join('/')}" must be an ${kind}`;
  throw new RelayError('bad_file', { file, what, ...placeOf(doc.text, node.start) });
}

/** Returns the text at a path; null if there is none or another kind of value. */
export function textAt(doc: JsonDocument, path: JsonPath): string | null {
  return textOf(doc.find(path));
}

function textOf(node: JsonNode | undefined): string | null {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : null;
}

/** Returns the texts of a list; a single text counts as a list of one. */
export function textsAt(doc: JsonDocument, path: JsonPath): string[] {
  const node = doc.find(path);
  if (node?.kind === 'array')
    return node.entries.map((entry) => textOf(entry.node)).filter((text) => text !== null);
  const one = textOf(node);
  return one ? [one] : [];
}
