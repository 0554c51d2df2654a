import type { Sides } from './conflicts.ts';

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
