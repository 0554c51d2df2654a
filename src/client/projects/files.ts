import { RelayError } from '../../base/errors.ts';
import { JsonDocument, type JsonPath } from '../../formats/json-document.ts';
import { type JsonNode, JsonSyntaxError, placeOf } from '../../formats/json-syntax.ts';

/** The four files a project is made of, in the order in which a cold start reads them. */
export const PROJECT_MD = 'PROJECT.md';
export const STATE_JSON = 'state.json';
export const TODOS_JSON = 'todos.json';
export const DECISIONS_MD = 'decisions.md';
export const PROJECT_FILES = [PROJECT_MD, STATE_JSON, TODOS_JSON, DECISIONS_MD] as const;

/** What belongs to this machine and not to the project: the lock, the seal of the decisions, when a reminder was given. */
export const LOCAL_FOLDER = '.relay';

export interface FileText {
  /** As it is on disk, with a byte order mark and whatever line ends it has. */
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** A project's folder. Names are relative to it, with forward slashes. */
export interface ProjectFiles {
  /** For messages to people. */
  readonly folder: string;
  /** Refuses a path below the folder that a symbolic link takes out of it, as `read` and `write` do. */
  needInside(name: string): Promise<void>;
  /** Whether a file or a folder is there. */
  has(name: string): Promise<boolean>;
  /** Null where there is no such file. What is not UTF-8 or too large is refused. */
  read(name: string): Promise<FileText | null>;
  /** In one step: a reader sees the old text or the new one, whole. Only inside `locked`. */
  write(name: string, text: string): Promise<void>;
  /** The names directly in the folder, or in one below it, sorted. */
  list(below?: string): Promise<readonly { readonly name: string; readonly folder: boolean }[]>;
  /** Runs `work` while nobody else, in this process or another, is inside `locked` of the same folder. */
  locked<T>(work: () => Promise<T>): Promise<T>;
}

export interface Commit {
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly subject: string;
}

/** Where a repository stands. There is no commit before the first one, and on a commit that was checked out by itself no branch. */
export interface Standing {
  readonly branch: string | null;
  readonly commit: string | null;
  /** What differs from the last commit, as `git status` abbreviates it. Project files themselves are left out. */
  readonly inFlight: readonly { readonly path: string; readonly state: string }[];
}

/** A commit that changed a file. */
export interface FileChange {
  readonly commit: string;
  /** The file as the commits before had it, one text for each parent in a merge; empty where it was added. */
  readonly before: readonly string[];
  /** An empty text where the commit deleted the file. */
  readonly after: string;
}

export interface MergedCommits {
  /** Null where the two have nothing in common. */
  readonly base: string | null;
  readonly ours: string;
  readonly theirs: string;
}

export interface MergedFile {
  readonly text: string;
  /** Both sides changed the same lines: the text has conflict markers. */
  readonly conflict: boolean;
}

/** What a project asks of the git repository around its folder. */
export interface ProjectGit {
  /** Newest first. */
  commits(o: { readonly since?: number; readonly limit: number }): Promise<readonly Commit[]>;
  standing(): Promise<Standing>;
  /** How many lines each file has more and less than in the last commit; of what is not text, and not in git, nothing is known. */
  changedLines(): Promise<ReadonlyMap<string, { readonly added: number; readonly removed: number }>>;
  /**
   * The newest `limit` commits that changed a file, on every line of history, each after those it builds on. A merge that
   * took the file from one side as it was is none of them.
   */
  history(name: string, limit: number): Promise<readonly FileChange[]>;
  /** The commits that a merge, rebase or cherry-pick which is under way brings together; null where there is none. */
  merging(): Promise<MergedCommits | null>;
  /** A file as a commit has it; empty where it has none. */
  textIn(commit: string, name: string): Promise<string>;
  /** Tells git that conflicts in these files are resolved. */
  resolved(names: readonly string[]): Promise<void>;
  /** Merges lines of text as git does, with markers where both sides changed the same. */
  mergeLines(sides: Sides): Promise<MergedFile>;
  /** Whether earlier commits were left out when this repository was cloned. */
  isShallow(): Promise<boolean>;
  /** Where it is shared, without a password that may be in the address. */
  remote(): Promise<string | null>;
  /** Commits these files and nothing else; null where there was nothing to commit. */
  commit(names: readonly string[], message: string): Promise<string | null>;
}

/** `2026-04-20T10:00:00+08:00`: to the second, with the offset on this machine, as the files have it. */
export function stamp(at: number): string {
  const zone = -new Date(at).getTimezoneOffset();
  const local = new Date(at + zone * 60_000).toISOString().slice(0, 19);
  const minutes = Math.abs(zone);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${local}${zone < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** Null for what is missing or not a time. */
export function timeOf(text: unknown): number | null {
  const at = typeof text === 'string' && /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

export function ago(at: number, now: number): string {
  const seconds = Math.round((now - at) / 1000);
  if (seconds < -60) return `dated ${span(-seconds)} ahead`;
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

/** The line, counted from 1, at which git left a conflict in a file; null where it left none. */
export function conflictLine(text: string): number | null {
  const lines = text.split(/\r\n|\n|\r/);
  const begin = lines.findIndex((line) => BEGIN.test(line));
  const middle = lines.findIndex((line, index) => index > begin && MIDDLE.test(line));
  const end = lines.findIndex((line, index) => index > middle && END.test(line));
  return begin >= 0 && middle >= 0 && end >= 0 ? begin + 1 : null;
}

/** A file that git left in conflict is not written to. */
export function needResolved(file: string, text: string): void {
  const line = conflictLine(text);
  if (line !== null) throw new RelayError('conflicted', { file, line });
}

/** A file before two sides changed it, and as each of them has it. */
export interface Sides {
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}

/** The sides of a file with conflict markers. What is before a conflict is known only where git was told to show it (diff3). */
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

/** One of the JSON files of a project, open for reading and for careful changes. */
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
    const what = 'it must hold an object';
    throw new RelayError('bad_file', { file, what, ...placeOf(text, doc.root.start) });
  }
  return doc;
}

/** A command that would write into something of another kind says so and writes nothing. */
export function needKind(file: string, doc: JsonDocument, path: JsonPath, kind: 'object' | 'array'): void {
  const node = doc.find(path);
  if (!node || node.kind === kind) return;
  const what = `"${path.join('/')}" must be an ${kind}`;
  throw new RelayError('bad_file', { file, what, ...placeOf(doc.text, node.start) });
}

/** The text in a place; null where there is none, or something else. */
export function textAt(doc: JsonDocument, path: JsonPath): string | null {
  return textOf(doc.find(path));
}

function textOf(node: JsonNode | undefined): string | null {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : null;
}

/** The texts of a list; people also write one text where a list belongs. */
export function textsAt(doc: JsonDocument, path: JsonPath): string[] {
  const node = doc.find(path);
  if (node?.kind === 'array')
    return node.entries.map((entry) => textOf(entry.node)).filter((text) => text !== null);
  const one = textOf(node);
  return one ? [one] : [];
}
