import { RelayError } from '../../base/errors.ts';
import { JsonDocument, type JsonPath } from '../../formats/json-document.ts';
import { type JsonNode, JsonSyntaxError, placeOf } from '../../formats/json-syntax.ts';

/** Project file that describes the project. */
export const PROJECT_MD = 'PROJECT.md';
/** Project file with the current state and the hand-offs. */
export const STATE_JSON = 'state.json';
/** Project file with the todos. */
export const TODOS_JSON = 'todos.json';
/** Project file with the decisions. It is append-only. */
export const DECISIONS_MD = 'decisions.md';
/** The four project files, in the order in which they are read. */
export const PROJECT_FILES = [PROJECT_MD, STATE_JSON, TODOS_JSON, DECISIONS_MD] as const;

/**
 * Folder for data of this machine: the lock, the seal of the decisions and the time of the last reminder. It
 * also contains the project files, if another program uses their names in the project folder.
 */
export const LOCAL_FOLDER = '.relay';
/** Settings file. Its field `folder` is the folder of the project files, relative to the project folder. */
export const PLACE_FILE = `${LOCAL_FOLDER}/project.json`;

/** Patterns that identify our project files. Other programs also use names such as state.json. */
const OURS: { readonly [name: string]: RegExp } = {
  [PROJECT_MD]: /./,
  [STATE_JSON]: /"(?:current_task|next_steps)"|^\s*(?:\{\s*\}\s*)?$/,
  [TODOS_JSON]: /"todos"|^\s*(?:\{\s*\}\s*)?$/,
};
/** Names of the files that identify a project folder. */
export const SIGNS = Object.keys(OURS);

/**
 * Returns whether a file belongs to this program. A file with the name of a project file may belong to another
 * program.
 */
export function isOurs(name: string, text: string): boolean {
  return OURS[name]?.test(text) ?? true;
}

export interface FileText {
  /** Content as it is on disk, with its byte order mark and its line ends. */
  readonly text: string;
  /** Time of the last change, in ms since the epoch. */
  readonly modifiedAt: number;
}

/** Access to the folder of a project. File names are relative to this folder and have forward slashes. */
export interface ProjectFiles {
  /** Path of the folder, for messages to people. */
  readonly folder: string;
  /**
   * Folder of the four project files, relative to `folder`: empty, or a path that ends with a slash. A bare
   * name such as `state.json` means the file in this folder. `./state.json` means the file in `folder`.
   */
  readonly place: string;
  /** Throws if a symbolic link leads out of the folder. `read` and `write` also throw in this case. */
  needInside(name: string): Promise<void>;
  /** Returns whether a file or folder with this name exists. */
  has(name: string): Promise<boolean>;
  /** Returns the time of the last change of a file in ms. Returns 0 if the file does not exist. */
  modifiedAt(name: string): Promise<number>;
  /**
   * Reads a file. Returns null if it does not exist. Throws if it is not UTF-8 or has more than `maxBytes`
   * bytes.
   */
  read(name: string, maxBytes?: number): Promise<FileText | null>;
  /** Replaces a file atomically. Call this only inside `locked`. `mode` sets its permissions. */
  write(name: string, text: string, o?: { readonly mode?: number }): Promise<void>;
  /**
   * Lists the files and folders directly in the project folder, or in its subfolder `below`. They are sorted
   * by name.
   */
  list(below?: string): Promise<readonly { readonly name: string; readonly folder: boolean }[]>;
  /**
   * Runs `work` under the lock of the folder. Only one call holds the lock at a time, across all processes.
   */
  locked<T>(work: () => Promise<T>): Promise<T>;
}

export interface Commit {
  readonly hash: string;
  /** Time of the commit, in ms since the epoch. */
  readonly at: number;
  readonly subject: string;
}

/**
 * State of a git repository. `commit` is null before the first commit. `branch` is null if HEAD is detached.
 */
export interface GitStatus {
  readonly branch: string | null;
  readonly commit: string | null;
  /**
   * Files that differ from the last commit, each with the abbreviation of `git status`. Project files are
   * left out.
   */
  readonly inFlight: readonly { readonly path: string; readonly state: string }[];
}

/** A commit that changed a file, with the texts of the file before and after it. */
export interface FileChange {
  readonly commit: string;
  /** Texts of the file before the commit, one per parent. A text is empty if the file did not exist. */
  readonly before: readonly string[];
  /** Text of the file after the commit. Empty if the commit deleted the file. */
  readonly after: string;
}

export interface MergedCommits {
  /** Commit at which the two branches separated. Null if there is none. */
  readonly base: string | null;
  readonly ours: string;
  readonly theirs: string;
}

export interface MergedFile {
  readonly text: string;
  /** True if both branches changed the same lines. Then the text has conflict markers. */
  readonly conflict: boolean;
}

/** Access to the git repository that contains the project folder. */
export interface ProjectGit {
  /** Resolves when the git process of every call so far has started, or the call has failed. */
  started(): Promise<void>;
  /** Returns commits, newest first. With `paths`, only commits that changed one of these files. */
  commits(o: {
    readonly since?: number;
    readonly limit: number;
    readonly paths?: readonly string[];
  }): Promise<readonly Commit[]>;
  status(): Promise<GitStatus>;
  /**
   * Returns how many lines were added to and removed from each tracked file since the last commit, including
   * project files. Both numbers of a binary file are 0.
   */
  changedLines(): Promise<ReadonlyMap<string, { readonly added: number; readonly removed: number }>>;
  /**
   * Returns the changes of these files as `git diff HEAD -U0` prints them: hunk headers such as `@@ -3 +3,2
   * @@ func main()`, and changed lines with `+` or `-`. git adds the name of the function to a header.
   */
  hunks(paths: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
  /**
   * Returns the newest `limit` commits that changed a file, including commits on merged branches. Parents
   * come before their children. A merge that took the file unchanged from one parent is left out.
   */
  history(name: string, limit: number): Promise<readonly FileChange[]>;
  /**
   * Returns the commits of the merge, rebase or cherry-pick in progress. Returns null if none is in progress.
   */
  merging(): Promise<MergedCommits | null>;
  /** Returns the text of a file in a commit. Empty if the commit does not contain the file. */
  textIn(commit: string, name: string): Promise<string>;
  /** Marks the conflicts in these files as resolved. */
  resolved(names: readonly string[]): Promise<void>;
  /** Merges texts line by line, as git does. The result may contain conflict markers. */
  mergeLines(sides: Sides): Promise<MergedFile>;
  /** Returns whether the repository is a shallow clone. */
  isShallow(): Promise<boolean>;
  /**
   * Returns the URL of the remote `origin` without user name and password. Returns null if there is no such
   * remote.
   */
  remote(): Promise<string | null>;
  /** Commits only these files. Returns the hash of the commit, or null if there was nothing to commit. */
  commit(names: readonly string[], message: string): Promise<string | null>;
}

/** Returns the path of a file. A bare name of a project file means the file in `place`. */
export function placed(name: string, place: string): string {
  return (PROJECT_FILES as readonly string[]).includes(name) ? `${place}${name}` : name;
}

/** Formats a time as `2026-04-20T10:00:00+08:00`: whole seconds, with the UTC offset of this machine. */
export function stamp(at: number): string {
  const zone = -new Date(at).getTimezoneOffset();
  const local = new Date(at + zone * 60_000).toISOString().slice(0, 19);
  const minutes = Math.abs(zone);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${local}${zone < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** Parses a timestamp into ms since the epoch. Returns null if it is missing or invalid. */
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

/**
 * Returns the number of the line, from 1, at which the first git conflict begins. Returns null if there is no
 * conflict.
 */
export function conflictLine(text: string): number | null {
  const lines = text.split(/\r\n|\n|\r/);
  const begin = lines.findIndex((line) => BEGIN.test(line));
  const middle = lines.findIndex((line, index) => index > begin && MIDDLE.test(line));
  const end = lines.findIndex((line, index) => index > middle && END.test(line));
  return begin >= 0 && middle >= 0 && end >= 0 ? begin + 1 : null;
}

/** Throws if the file contains a git conflict. Commands must not write to such a file. */
export function needResolved(file: string, text: string): void {
  const line = conflictLine(text);
  if (line !== null) throw new RelayError('conflicted', { file, line });
}

/**
 * The three texts of a merge: `base` is the common text, `ours` and `theirs` are the texts of the two
 * branches.
 */
export interface Sides {
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}

/**
 * Splits a text with conflict markers into the texts of a merge. The common text of a conflict is known only
 * if git wrote it (diff3 style).
 */
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

/**
 * Opens a JSON project file for reading and for edits that keep its formatting, comments and trailing commas.
 */
export function openJsonFile(file: string, text: string): JsonDocument {
  let doc: JsonDocument;
  try {
    doc = new JsonDocument(text, { comments: true });
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

/** Throws if the value at a path has another kind, because a command would overwrite it. */
export function needKind(file: string, doc: JsonDocument, path: JsonPath, kind: 'object' | 'array'): void {
  const node = doc.find(path);
  if (!node || node.kind === kind) return;
  const what = `"${path.join('/')}" must be an ${kind}`;
  throw new RelayError('bad_file', { file, what, ...placeOf(doc.text, node.start) });
}

/** Returns the text at a path. Returns null if there is no value, or a value of another kind. */
export function textAt(doc: JsonDocument, path: JsonPath): string | null {
  return textOf(doc.find(path));
}

function textOf(node: JsonNode | undefined): string | null {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : null;
}

/** Returns the texts of the list at a path. A single text counts as a list with one item. */
export function textsAt(doc: JsonDocument, path: JsonPath): string[] {
  const node = doc.find(path);
  if (node?.kind === 'array')
    return node.entries.map((entry) => textOf(entry.node)).filter((text) => text !== null);
  const one = textOf(node);
  return one ? [one] : [];
}
