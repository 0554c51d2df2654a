import { keyRange } from '../../kernel/admission.ts';
import type { LocalIndex } from './local-index.ts';

/** Names that are written at once, between which others run. */
const STEP = 2_000;

/** A folder whose names are known here up to a sequence of its stream. */
export interface Folder {
  readonly id: number;
  /** Of which stream, with when that was made. */
  readonly stream: string;
  /** Negative while its names are still being learnt. */
  readonly seq: number;
}

export interface Name {
  readonly key: string;
  /** Of the last write that was heard of. */
  readonly seq: number;
}

/** What happened to a name: it was written, or what was written there no longer counts. */
export interface Change extends Name {
  readonly live: boolean;
}

/**
 * The names in large folders, in key order, which no server of NATS gives. Every name that there is up to the folder's sequence is
 * here; some that are here are gone, which whoever reads them finds out and tells.
 */
export class Folders {
  readonly #index: LocalIndex;

  constructor(index: LocalIndex) {
    this.#index = index;
  }

  /** By the filter of its subjects. */
  find(filter: string): Folder | undefined {
    const sql = 'SELECT id, stream, seq FROM folders WHERE filter = ?';
    return this.#index.sql<Folder>(sql).get(filter);
  }

  /** One that is to be learnt; what was known of it before, of another stream, is forgotten. */
  begin(filter: string, stream: string): Folder {
    return this.#index.commit(() => {
      const found = this.find(filter);
      if (found?.stream === stream) return found;
      if (found) {
        this.#index.sql('DELETE FROM names WHERE folder = ?').run(found.id);
        this.#index.sql('DELETE FROM folders WHERE id = ?').run(found.id);
      }
      this.#index.sql('INSERT INTO folders (filter, stream, seq) VALUES (?, ?, -1)').run(filter, stream);
      return this.find(filter)!;
    });
  }

  async add(folder: Folder, keys: readonly string[], seq: number): Promise<void> {
    for (let at = 0; at < keys.length; at += STEP) {
      this.#index.commit(() => {
        for (const key of keys.slice(at, at + STEP)) this.#put(folder, { key, seq });
      });
      await new Promise(setImmediate);
    }
  }

  /** All names up to a sequence are there. */
  learnt(folder: Folder, seq: number): void {
    this.#index.sql('UPDATE folders SET seq = ? WHERE id = ? AND seq < 0').run(seq, folder.id);
  }

  /** What happened behind the folder's sequence, up to another; nothing where somebody else has told it meanwhile. */
  change(folder: Folder, changes: readonly Change[], upTo: number): void {
    this.#index.commit(() => {
      const sql = 'SELECT seq FROM folders WHERE id = ?';
      if (this.#index.sql<{ seq: number }>(sql).get(folder.id)?.seq !== folder.seq) return;
      for (const change of changes) {
        if (change.live) this.#put(folder, change);
        else this.#drop(folder, change);
      }
      this.#index.sql('UPDATE folders SET seq = ? WHERE id = ?').run(upTo, folder.id);
    });
  }

  /** Those behind `after` that begin with the prefix. */
  page(folder: Folder, prefix: string, after: string | undefined, limit: number): Name[] {
    const { where, from, to } = keyRange(prefix, after);
    const sql = `SELECT key, seq FROM names WHERE folder = ? AND ${where} ORDER BY key LIMIT ?`;
    return [...this.#index.sql<Name>(sql).iterate(folder.id, from, to, limit)];
  }

  /** Names that are gone, unless they were written again since. */
  drop(folder: Folder, names: readonly Name[]): void {
    if (names.length === 0) return;
    this.#index.commit(() => {
      for (const name of names) this.#drop(folder, name);
    });
  }

  #put({ id }: Folder, { key, seq }: Name): void {
    const sql = `INSERT INTO names (folder, key, seq) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)`;
    this.#index.sql(sql).run(id, key, seq);
  }

  #drop({ id }: Folder, { key, seq }: Name): void {
    this.#index.sql('DELETE FROM names WHERE folder = ? AND key = ? AND seq <= ?').run(id, key, seq);
  }
}
