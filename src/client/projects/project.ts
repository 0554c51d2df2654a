import { RelayError } from '../../base/errors.ts';
import { HANDOFF_POLL_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import type { JsonDocument } from '../../formats/json-document.ts';
import type { Finding } from './check.ts';
import {
  appendDecision,
  digestDecisions,
  extendSeal,
  type NewDecision,
  oneLine,
  readDecisions,
  SEAL_FILE,
} from './decisions.ts';
import {
  DECISIONS_MD,
  isOurs,
  type MergedFile,
  needResolved,
  openJsonFile,
  PROJECT_FILES,
  PROJECT_MD,
  type ProjectFiles,
  type ProjectGit,
  type Sides,
  STATE_JSON,
  stamp,
  TODOS_JSON,
  timeOf,
} from './files.ts';
import type { WrittenMerge } from './merge.ts';
import { type ProjectView, type ReadOptions, readProject } from './project-view.ts';
import {
  type Checkpoint,
  collectHandoff,
  type Handoff,
  type HandoffReport,
  isProjectState,
  type NewHandoff,
  openHandoff,
  type ProjectState,
  readState,
  reportHandoff,
  type StateChange,
  saveCheckpoint,
  syncState,
} from './state.ts';
import {
  addTodo,
  changeTodo,
  type NewTodo,
  reviewTodos,
  sameId,
  type Todo,
  type TodoChange,
} from './todos.ts';

export interface Sync extends StateChange {
  readonly todos?: readonly NewTodo[];
  readonly decisions?: readonly NewDecision[];
}

type JsonFile = typeof STATE_JSON | typeof TODOS_JSON;

/**
 * A folder with project files. Each change happens under a lock, replaces files atomically and keeps text
 * that other processes wrote.
 */
export class Project {
  readonly files: ProjectFiles;
  readonly git: ProjectGit;
  readonly #now: () => number;

  constructor(files: ProjectFiles, git: ProjectGit, now: () => number) {
    this.files = files;
    this.git = git;
    this.#now = now;
  }

  /** Writes the missing project files. With `force`, overwrites all of them. */
  async init(o: { readonly force?: boolean } = {}): Promise<{ written: string[]; kept: string[] }> {
    const { discover, projectMd, TEMPLATES } = await import('./new-project.ts');
    const facts = await discover(this.files, this.git);
    const at = stamp(this.#now());
    return this.files.locked(async () => {
      const existing = o.force ? [] : await this.#present();
      const missing = PROJECT_FILES.filter((name) => !existing.includes(name));
      for (const name of missing) {
        const text = name === PROJECT_MD ? projectMd(facts) : TEMPLATES[name](at, facts.decisions);
        await this.files.write(name, (await this.#inRoot(name)) ?? text);
      }
      return { written: missing, kept: existing };
    });
  }

  /**
   * Returns the text of a project file that is in the project folder, although the project files belong in
   * another folder (`place`). Returns null if there is no such file.
   */
  async #inRoot(name: string): Promise<string | null> {
    if (this.files.place === '') return null;
    const text = (await this.files.read(`./${name}`).catch(() => null))?.text;
    return text !== undefined && isOurs(name, text) ? text : null;
  }

  /** Reads the project files. Throws if none of them exists. */
  async read(o: ReadOptions = {}): Promise<ProjectView> {
    const view = await readProject(this.files, this.#now(), o);
    if (view.modified.size === 0 && view.broken.length === 0) throw this.#missing();
    return view;
  }

  /**
   * Records the end of a session. If `done` contains the id of a todo, that todo is completed, and its title
   * is listed as completed.
   */
  async sync(change: Sync): Promise<{ todos: Todo[]; decisions: string[] }> {
    const at = stamp(this.#now());
    const isTodo = (item: string) => /^TODO-\d+$/i.test(item);
    return this.files.locked(async () => {
      // Prepare all changes before writing any. If a file cannot be parsed, nothing is written.
      const state = await this.#open(STATE_JSON, at);
      const touched = change.todos?.length || change.done?.some(isTodo);
      const list = touched ? await this.#open(TODOS_JSON, at) : null;
      const done = change.done?.map((item) =>
        list && isTodo(item) ? changeTodo(list, item, { status: 'completed' }, at).todo.title : item,
      );
      const todos = list ? (change.todos ?? []).map((todo) => addTodo(list, todo, at)) : [];
      syncState(state, { ...change, done }, at);
      await this.files.write(STATE_JSON, state.text);
      if (list) await this.files.write(TODOS_JSON, list.text);
      const decisions: string[] = [];
      for (const decision of change.decisions ?? []) decisions.push(await this.#append(decision));
      await this.#seal();
      return { todos, decisions };
    });
  }

  addTodo(todo: NewTodo): Promise<Todo> {
    return this.#edit(TODOS_JSON, (doc, at) => addTodo(doc, { ...todo, title: oneLine(todo.title) }, at));
  }

  changeTodo(id: string, change: TodoChange): Promise<{ todo: Todo; changed: boolean }> {
    return this.#edit(TODOS_JSON, (doc, at) => changeTodo(doc, id, change, at));
  }

  /** Records the time of the review and returns all todos. */
  reviewTodos(): Promise<Todo[]> {
    return this.#edit(TODOS_JSON, reviewTodos);
  }

  decide(decision: NewDecision): Promise<string> {
    return this.files.locked(async () => {
      const id = await this.#append(decision);
      await this.#seal();
      return id;
    });
  }

  async handOff(fresh: NewHandoff): Promise<Handoff> {
    await this.needContext(fresh.context ?? []);
    return this.#edit(STATE_JSON, (doc, at) => openHandoff(doc, fresh, at));
  }

  async report(id: string | null, report: HandoffReport): Promise<Handoff> {
    for (const name of report.artifacts ?? []) await this.files.needInside(name);
    return this.#edit(STATE_JSON, (doc, at) => reportHandoff(doc, id, report, at));
  }

  /**
   * Checks the files that another agent should read. Throws if a file does not exist, or if a symbolic link
   * leads out of the folder. A URL need not exist.
   */
  async needContext(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.files.needInside(name);
      if (/^[a-z][a-z0-9+.-]*:\/\//i.test(name) || (await this.files.has(name))) continue;
      const hint = 'Pass --context a URL, or the path of a file relative to the project folder.';
      throw new RelayError('bad_usage', { what: `There is no file ${name} in ${this.files.folder}.`, hint });
    }
  }

  /**
   * Returns a hand-off. With `until` (a time in ms), waits for the report of the sub-agent, at most until this time
   * or the deadline of the hand-off, whichever comes first.
   */
  async result(id: string | null, until = 0): Promise<Handoff> {
    for (let handoffId = id; ; ) {
      const handoff = await this.#edit(STATE_JSON, (doc, at) => collectHandoff(doc, handoffId, at));
      const end = Math.min(until, timeOf(handoff.deadline) ?? until);
      if (handoff.status !== 'open' || this.#now() >= end) return handoff;
      handoffId = handoff.id;
      await pause(Math.min(HANDOFF_POLL_MS, end - this.#now()));
    }
  }

  /**
   * Returns the content of state.json, which is all that some hooks need. Returns null if the file does not
   * exist or belongs to another program.
   */
  async state(): Promise<ProjectState | null> {
    const file = await this.files.read(STATE_JSON);
    const doc = file && openJsonFile(STATE_JSON, file.text);
    return doc && isProjectState(doc) ? readState(doc) : null;
  }

  /**
   * Saves a checkpoint in state.json. Does nothing if the file does not exist or belongs to another program,
   * because hooks call this method and must never create a project.
   */
  checkpoint(checkpoint: Omit<Checkpoint, 'at'>): Promise<void> {
    return this.files.locked(async () => {
      const file = await this.files.read(STATE_JSON);
      if (!file) return;
      const doc = openJsonFile(STATE_JSON, file.text);
      if (!isProjectState(doc)) return;
      saveCheckpoint(doc, { ...checkpoint, at: stamp(this.#now()) });
      if (doc.text !== file.text) await this.files.write(STATE_JSON, doc.text);
    });
  }

  async check(o: { readonly accept?: boolean } = {}): Promise<Finding[]> {
    const { acceptRewrites, checkProject } = await import('./check.ts');
    if (o.accept) {
      await this.files.locked(async () => {
        const acceptance = await acceptRewrites(this.files, this.git);
        if (acceptance) await this.#append(acceptance);
      });
    }
    return checkProject(await this.read({ unchecked: true }), this.files, this.git);
  }

  /** Merges the project files if they have conflict markers or repeated numbers. */
  async merge(): Promise<WrittenMerge> {
    const { mergeFolder } = await import('./merge.ts');
    return this.files.locked(() => mergeFolder(this.files, this.git));
  }

  /** Merges one project file for git. If the file cannot be parsed, merges it line by line, as git would. */
  async mergeFile(name: string, sides: Sides): Promise<MergedFile> {
    const { mergeOne } = await import('./merge.ts');
    const projectFile = PROJECT_FILES.find((each) => each === name);
    const merged = projectFile && mergeOne(this.git, projectFile, sides).catch(() => null);
    return (await merged) ?? this.git.mergeLines(sides);
  }

  /**
   * Commits only the project files. Returns the hash of the commit, or null if there was nothing to commit.
   */
  async commit(message: string): Promise<string | null> {
    return this.git.commit(await this.#present(), message);
  }

  #edit<T>(name: JsonFile, edit: (doc: JsonDocument, at: string) => T): Promise<T> {
    const at = stamp(this.#now());
    return this.files.locked(async () => {
      const doc = await this.#open(name, at);
      const before = doc.text;
      const result = edit(doc, at);
      if (doc.text !== before) await this.files.write(name, doc.text);
      return result;
    });
  }

  async #open(name: JsonFile, at: string): Promise<JsonDocument> {
    const doc = openJsonFile(name, await this.#text(name, at));
    if (name === STATE_JSON && !isProjectState(doc)) {
      const what =
        'it seems to belong to another program, because it has neither "current_task" nor "progress"';
      const hint = 'To put the project files into .relay: relay project init';
      throw new RelayError('bad_file', { file: name, what, line: 1, column: 1, hint });
    }
    return doc;
  }

  /** Returns the text of a file, or its template if the file is missing. Throws if no project file exists. */
  async #text(name: JsonFile | typeof DECISIONS_MD, at: string): Promise<string> {
    const file = await this.files.read(name);
    if (!file && (await this.#present()).length === 0) throw this.#missing();
    return file?.text ?? (await import('./new-project.ts')).TEMPLATES[name](at);
  }

  async #append(decision: NewDecision): Promise<string> {
    const text = await this.#text(DECISIONS_MD, '');
    needResolved(DECISIONS_MD, text);
    const decisions = readDecisions(text);
    const supersedes = (decision.supersedes ?? []).map((id) => {
      const found = decisions.find((record) => sameId('ADR', record.id, id));
      if (found) return found.id;
      const what = `decision ${id}`;
      throw new RelayError('no_entry', { file: DECISIONS_MD, what, list: 'relay project start' });
    });
    const date = stamp(this.#now()).slice(0, 10);
    const { id, text: longer } = appendDecision(text, { ...decision, supersedes }, date);
    await this.files.write(DECISIONS_MD, longer);
    return id;
  }

  async #seal(): Promise<void> {
    const text = (await this.files.read(DECISIONS_MD))?.text;
    if (text === undefined) return;
    const before = (await this.files.read(SEAL_FILE))?.text;
    const after = extendSeal(before, await digestDecisions(text));
    if (after !== before) await this.files.write(SEAL_FILE, after);
  }

  /** Returns the names of the project files that exist, including unreadable ones. */
  async #present(): Promise<string[]> {
    const names: string[] = [];
    for (const name of PROJECT_FILES) {
      await this.files.needInside(name);
      if (await this.files.has(name)) names.push(name);
    }
    return names;
  }

  #missing(): RelayError {
    return new RelayError('no_project', { path: this.files.folder });
  }
}
