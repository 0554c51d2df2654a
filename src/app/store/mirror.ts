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
import { isDeepStrictEqual } from 'node:util';
import { pause } from '../../base/pause.ts';
import { toWire } from '../../domain/threads/event.ts';
import type { Head } from '../../domain/threads/fold.ts';
import type { ThreadRoot } from '../../domain/threads/keys.ts';
import { contentKey } from '../../domain/threads/keys.ts';
import type { ThreadServices } from '../../domain/threads/thread-services.ts';
import { withFileLock } from '../projects/project-lock.ts';
import { writeAtomically } from './atomic-file.ts';
import type { Legible } from './open-engine.ts';
import { setMark, staleMarks, threadsFolder } from './stale-marks.ts';

/** Contents of artifacts that are held in memory to be written. */
const FILES_AT_ONCE = 64;

/**
 * The legible files of threads: `threads/<root>/state.json`, `events.log`, and of `artifacts/` those that the engine does not
 * make at once. They follow the log, which is the truth: written after each commit, forward only, by one process at a time. What a crash left behind is found again by a mark
 * that was set before the commit, and made up for when the store is next opened. A `state.json` that somebody edited is
 * kept beside it and told.
 */
export class Mirror {
  readonly #folder: string;
  readonly #makeFiles: Legible['makeFiles'];
  readonly #threads: ThreadServices;
  readonly #warn: (what: string) => void;
  readonly #restMs: number;
  /** Threads whose files are being written; true when something came meanwhile. */
  readonly #writing = new Map<ThreadRoot, boolean>();
  readonly #marks = new Map<ThreadRoot, string>();
  /** Where each events.log ends, as this process left it. */
  readonly #ends = new Map<ThreadRoot, { size: number; count: number; seq: number }>();
  /** Each state.json as this process left it. */
  readonly #states = new Map<ThreadRoot, string>();
  /** What is in the state.json of a thread that this process has not written yet, if nobody edited it. */
  readonly #expected = new Map<ThreadRoot, Head>();

  /** What comes within `restMs` of a commit is written together with it. */
  constructor(
    { home, makeFiles }: Legible,
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

  /** Brings the files of threads up to date that another process left stale. */
  async heal(): Promise<void> {
    for (const { root, path } of staleMarks(this.#folder)) {
      await this.write(root);
      if ((await this.#threads.log.ownerOf(root)) === undefined) this.#remove(root);
      rmSync(path, { force: true });
    }
  }

  /** Writes the files of a thread anew, whatever is in them; where that fails they stay as they were. */
  async rewrite(root: ThreadRoot): Promise<void> {
    // Everything that has to be read for it.
    for await (const _ of this.#threads.log.heads.events(root, 0));
    this.#ends.delete(root);
    rmSync(join(this.#folder, root, 'events.log'), { force: true });
    await this.write(root);
  }

  /** Brings the files of a thread up to its head. */
  async write(root: ThreadRoot): Promise<void> {
    const folder = join(this.#folder, root);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await withFileLock(join(folder, '.lock'), { folder }, async () => {
      // Loaded under the lock: nobody can have written anything newer.
      const head = await this.#threads.log.heads.load(root);
      if (head) {
        await this.#appendEvents(folder, head);
        await this.#keepEdited(folder, head);
        const state = textOf(head);
        const path = join(folder, 'state.json');
        // Not forced to the disk: what a power cut takes is written anew.
        await writeAtomically(path, state, { mode: 0o600, flush: false });
        this.#states.set(root, stampOf(path)!);
        this.#expected.delete(root);
      }
    });
    if (await this.#isGone(root)) this.#remove(root);
  }

  /** A thread that is being imported has a log, and artifacts in its folder, before it has a record. */
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
      }
    });
  }

  /** Contents have been taken away by the engine; the folder and its files are ours. */
  #remove(root: ThreadRoot): void {
    this.#ends.delete(root);
    this.#states.delete(root);
    this.#expected.delete(root);
    rmSync(join(this.#folder, root), { recursive: true, force: true });
    this.#unmark(root);
  }

  /** Puts a copy of a state.json that is no state of this thread's log beside it. Empty is what a power cut leaves. */
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
      `${path} was edited. A thread changes only by relay state patch, so the file is written anew from its log; your edit is kept beside it, in ${aside}.`,
    );
  }

  async #isStateOf(head: Head, text: string): Promise<boolean> {
    let found: Partial<Head['state']>;
    try {
      found = JSON.parse(text);
    } catch {
      return false;
    }
    const version = found?.version;
    if (!Number.isSafeInteger(version) || version! < 1 || version! > head.version) return false;
    if (version === head.version) return isDeepStrictEqual(found, JSON.parse(JSON.stringify(head.state)));
    // Whose thread it is matters only for whose turn it is.
    const [state] = await this.#threads.log.fold({ tenant: '' }, head.root, 'states', [version!]);
    return isDeepStrictEqual(found, JSON.parse(JSON.stringify(state)));
  }

  async #appendEvents(folder: string, head: Head): Promise<void> {
    const file = openSync(join(folder, 'events.log'), 'a+', 0o600);
    try {
      const { size } = fstatSync(file);
      const known = this.#ends.get(head.root);
      let { count, seq } = known?.size === size ? known : await this.#findEnd(head, file, size);
      let text = '';
      let contents: string[] = [];
      let written = fstatSync(file).size;
      // What is in events.log has its files: whoever heals goes on from there.
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
      this.#ends.set(head.root, { size: written, count, seq });
    } finally {
      closeSync(file);
    }
  }

  /** The last event in the file; half a line behind it is cut off. A file that makes no sense is begun anew. */
  async #findEnd(head: Head, file: number, size: number): Promise<{ count: number; seq: number }> {
    const { end, count } = lastEvent(file, size);
    if (count > head.count || end === 0) {
      ftruncateSync(file, 0);
      return { count: 0, seq: 0 };
    }
    if (end < size) ftruncateSync(file, end);
    let { count: at, seq } = await this.#threads.log.heads.placeOf(head.root, count);
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

/** Changes whenever the file does; undefined where there is none. */
function stampOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}

/** Gives how many bytes it was. */
function appendAll(file: number, text: string): number {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
  return bytes.length;
}

/** Looks from the end of the file for a whole line that is an event. */
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
  try {
    const { id } = JSON.parse(line) as { id?: string };
    return id !== undefined && /^\d+$/.test(id) ? Number(id) : null;
  } catch {
    return null;
  }
}
