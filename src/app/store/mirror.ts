import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { jsonEqual, jsonObjectIn } from '../../base/json.ts';
import { pause } from '../../base/pause.ts';
import { toWire } from '../../domain/threads/event.ts';
import type { Head } from '../../domain/threads/fold.ts';
import type { ThreadRoot } from '../../domain/threads/keys.ts';
import { contentKey } from '../../domain/threads/keys.ts';
import type { ThreadServices } from '../../domain/threads/thread-services.ts';
import { withFileLock } from '../projects/project-lock.ts';
import { writeAtomically } from './atomic-file.ts';
import type { ReadableFiles } from './open-engine.ts';
import { setMark, staleMarks, threadsFolder } from './stale-marks.ts';

/** Maximum number of artifact contents that are written as one batch. */
const FILES_AT_ONCE = 64;

/**
 * Writes the readable files of threads: `threads/<root>/state.json`, `events.log`, and the files of `artifacts/` that
 * the engine does not write itself. The log is the source of truth. One process at a time updates the files after
 * each commit, never to an older state. A mark exists from before the commit until the files are written. If the
 * process crashes in between, the mark stays, and the next process that opens the store writes the files. A
 * `state.json` that someone has edited is copied, with a warning.
 */
export class Mirror {
  readonly #folder: string;
  readonly #makeFiles: ReadableFiles['makeFiles'];
  readonly #threads: ThreadServices;
  readonly #warn: (what: string) => void;
  readonly #restMs: number;
  /**
   * Threads whose files are being written. The value is true if another commit came meanwhile, so that the files
   * must be written again.
   */
  readonly #writing = new Map<ThreadRoot, boolean>();
  readonly #marks = new Map<ThreadRoot, string>();
  /** Size, number of events and last sequence number of each events.log, as this process last wrote it. */
  readonly #ends = new Map<ThreadRoot, { size: number; count: number; seq: number }>();
  /**
   * `stampOf` of each state.json when this process last wrote it. With another stamp, someone may have edited
   * the file.
   */
  readonly #states = new Map<ThreadRoot, string>();
  /**
   * Thread state before this process's first commit, kept until the process writes the thread's files. If state.json
   * equals this state, nobody edited it. If events.log ends with the last event of this state, only newer events are
   * appended.
   */
  readonly #expected = new Map<ThreadRoot, Head>();

  /** Commits of a thread within `restMs` ms are written together. */
  constructor(
    { home, makeFiles }: ReadableFiles,
    threads: ThreadServices,
    warn: (what: string) => void,
    restMs = 0,
  ) {
    this.#folder = threadsFolder(home);
    this.#makeFiles = makeFiles;
    this.#threads = threads;
    this.#warn = warn;
    this.#restMs = restMs;
    threads.log.followers.push({
      before: (head) => this.#mark(head),
      appended: (head) => this.#follow(head.root),
      removed: (root) => this.#remove(root),
    });
  }

  /** Updates the files that a dead process left outdated. */
  async heal(): Promise<void> {
    for (const { root, path } of staleMarks(this.#folder)) {
      await this.write(root);
      if ((await this.#threads.log.ownerOf(root)) === undefined) this.#remove(root);
      rmSync(path, { force: true });
    }
  }

  /** Rewrites all files of a thread. If the log cannot be read, the files stay unchanged. */
  async rewrite(root: ThreadRoot): Promise<void> {
    // Read the whole log first, so that a damaged log changes no file.
    for await (const _ of this.#threads.log.heads.events(root, 0));
    this.#ends.delete(root);
    rmSync(join(this.#folder, root, 'events.log'), { force: true });
    await this.write(root);
  }

  /** Updates the files of a thread to its latest version. */
  async write(root: ThreadRoot): Promise<void> {
    const folder = join(this.#folder, root);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await withFileLock(join(folder, '.lock'), { folder }, async () => {
      // Load the latest state under the lock, so that no other process can have written a newer state.
      const head = await this.#threads.log.heads.load(root);
      if (head) {
        await this.#appendEvents(folder, head);
        await this.#keepEdited(folder, head);
        const state = textOf(head);
        const path = join(folder, 'state.json');
        // No fsync: a file that a power failure loses is written again.
        await writeAtomically(path, state, { mode: 0o600, flush: false });
        remember(this.#states, root, stampOf(path)!);
        this.#expected.delete(root);
      }
    });
    if (await this.#isGone(root)) this.#remove(root);
  }

  /** Returns whether a thread was deleted. A thread that is being imported has a log but no record yet. */
  async #isGone(root: ThreadRoot): Promise<boolean> {
    const { log } = this.#threads;
    if ((await log.ownerOf(root)) !== undefined) return false;
    const first = await log.heads.events(root, 0).next();
    return first.done === true;
  }

  #mark(head: Head): void {
    const { root } = head;
    if (!this.#states.has(root) && !this.#expected.has(root)) this.#expected.set(root, head);
    if (!this.#marks.has(root)) this.#marks.set(root, setMark(this.#folder, root));
  }

  #unmark(root: ThreadRoot): void {
    const mark = this.#marks.get(root);
    this.#marks.delete(root);
    if (mark !== undefined) rmSync(mark, { force: true });
  }

  #follow(root: ThreadRoot): void {
    if (this.#writing.has(root)) {
      this.#writing.set(root, true);
      return;
    }
    this.#writing.set(root, false);
    this.#threads.log.background.run(async () => {
      try {
        do {
          if (this.#restMs > 0) await pause(this.#restMs);
          this.#writing.set(root, false);
          await this.write(root);
        } while (this.#writing.get(root));
        this.#unmark(root);
      } finally {
        this.#writing.delete(root);
        // Forget the state even if the files could not be written, for example on a full disk. Otherwise
        // states would fill the memory.
        this.#expected.delete(root);
      }
    });
  }

  /** Removes the folder of a thread. The engine has already deleted the artifacts. */
  #remove(root: ThreadRoot): void {
    this.#ends.delete(root);
    this.#states.delete(root);
    this.#expected.delete(root);
    rmSync(join(this.#folder, root), { recursive: true, force: true });
    this.#unmark(root);
  }

  /**
   * Copies state.json to another name if someone has edited the file. An edited file has a content that is no state
   * of this thread. Ignores an empty file, which a power failure can leave.
   */
  async #keepEdited(folder: string, head: Head): Promise<void> {
    const path = join(folder, 'state.json');
    const stamp = stampOf(path);
    if (stamp === undefined || stamp === this.#states.get(head.root)) return;
    const text = readFileSync(path, 'utf8');
    const expected = this.#expected.get(head.root);
    if (expected && text === textOf(expected)) return;
    if (/^[\0\s]*$/.test(text) || (await this.#isStateOf(head, text))) return;
    const aside = `state.edited-${new Date().toISOString().replaceAll(':', '-')}.json`;
    copyFileSync(path, join(folder, aside), constants.COPYFILE_EXCL);
    this.#warn(
      `${path} was edited by hand. Only relay state patch changes a thread, so the file was written again from the log. Your edit is saved in ${aside}.`,
    );
  }

  async #isStateOf(head: Head, text: string): Promise<boolean> {
    const found = jsonObjectIn(text);
    const version = Number(found?.version);
    if (found === null || !Number.isSafeInteger(version) || version < 1 || version > head.version)
      return false;
    if (version === head.version) return jsonEqual(found, JSON.parse(JSON.stringify(head.state)));
    // Any tenant will do: it only affects the order of the job queue.
    const [state] = await this.#threads.log.fold({ tenant: '' }, head.root, 'states', [version]);
    return jsonEqual(found, JSON.parse(JSON.stringify(state)));
  }

  async #appendEvents(folder: string, head: Head): Promise<void> {
    const file = openSync(join(folder, 'events.log'), 'a+', 0o600);
    try {
      const { size } = fstatSync(file);
      const savedEnd = this.#ends.get(head.root);
      let { count, seq } = savedEnd?.size === size ? savedEnd : await this.#findEnd(head, file, size);
      let text = '';
      let contents: string[] = [];
      let written = fstatSync(file).size;
      // Write the files of artifacts before appending their events. Then every event in events.log has its files, and
      // a repair can continue after the last event.
      const flush = async () => {
        await this.#makeFiles(contents);
        written += appendAll(file, text);
        text = '';
        contents = [];
      };
      for await (const { seq: at, event } of this.#threads.log.heads.events(head.root, seq)) {
        if (count >= head.count) break;
        count++;
        seq = at;
        text += `${JSON.stringify(toWire(head.id, count, event))}\n`;
        const content = contentKey(head.root, event);
        if (content !== null) contents.push(content);
        if (text.length > 1024 * 1024 || contents.length === FILES_AT_ONCE) await flush();
      }
      if (text !== '') await flush();
      remember(this.#ends, head.root, { size: written, count, seq });
    } finally {
      closeSync(file);
    }
  }

  /**
   * Finds the last event in events.log and cuts off an incomplete line after it. Empties an invalid file, so
   * that it is written again from the first event.
   */
  async #findEnd(head: Head, file: number, size: number): Promise<{ count: number; seq: number }> {
    const { end, count } = lastEvent(file, size);
    if (count > head.count || end === 0) {
      ftruncateSync(file, 0);
      return { count: 0, seq: 0 };
    }
    if (end < size) ftruncateSync(file, end);
    const expected = this.#expected.get(head.root);
    if (expected?.count === count) return { count, seq: expected.seq };
    let { count: at, seq } = await this.#threads.log.heads.nearestPosition(head.root, count);
    for await (const { seq: next } of this.#threads.log.heads.events(head.root, seq)) {
      if (at >= count) break;
      at++;
      seq = next;
    }
    return { count: at, seq };
  }
}

function textOf({ state }: Head): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}

/** Returns a value that changes whenever the file does, or undefined without a file. */
function stampOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}

/** Appends the text and returns the size of the text in bytes. */
function appendAll(file: number, text: string): number {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
  return bytes.length;
}

/** Maximum number of threads whose files are remembered. Files of other threads are read again at their next commit. */
const REMEMBERED_THREADS = 10_000;

function remember<T>(files: Map<ThreadRoot, T>, root: ThreadRoot, value: T): void {
  files.delete(root);
  files.set(root, value);
  if (files.size > REMEMBERED_THREADS) files.delete(files.keys().next().value!);
}

/**
 * Returns the number of the last event in the file, and the position after its line. Both are 0 if the last
 * complete line is no event.
 */
function lastEvent(file: number, size: number): { end: number; count: number } {
  let length = 64 * 1024;
  for (;;) {
    const start = Math.max(0, size - length);
    const buffer = Buffer.alloc(size - start);
    readSync(file, buffer, 0, buffer.length, start);
    const lastBreak = buffer.lastIndexOf(0x0a);
    const before = lastBreak <= 0 ? -1 : buffer.lastIndexOf(0x0a, lastBreak - 1);
    if (lastBreak >= 0 && (before >= 0 || start === 0)) {
      const count = eventNumber(buffer.subarray(before + 1, lastBreak).toString());
      return count === null ? { end: 0, count: 0 } : { end: start + lastBreak + 1, count };
    }
    if (start === 0) return { end: 0, count: 0 };
    length *= 8;
  }
}

function eventNumber(line: string): number | null {
  const id = jsonObjectIn(line)?.id;
  return typeof id === 'string' && /^\d+$/.test(id) ? Number(id) : null;
}
