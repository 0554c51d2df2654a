import { chmodSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { SESSION_INDEX_MS } from '../../base/limits.ts';
import { STOP_WORDS } from '../../base/stop-words.ts';
import { type SessionInfo, type Turn, type TurnHit, turnText } from '../../client/sessions/transcript.ts';
import { joinLetters, splitLetters } from '../../engines/full-text.ts';
import { loadSqlite } from '../../engines/node-sqlite.ts';

/** Number of turns per transaction. */
const BATCH = 500;

interface FoundTurn extends Pick<Turn, 'n' | 'at' | 'who' | 'text'> {
  readonly session: string;
}

/**
 * Full-text index of turns, in a file of its own that only the user can read. Secrets in the texts are
 * masked.
 */
export class SessionIndex implements Disposable {
  readonly #db: DatabaseSync;

  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const { DatabaseSync } = loadSqlite();
    this.#db = new DatabaseSync(file, { timeout: 10_000 });
    chmodSync(file, 0o600);
    this.#db.exec(`
      pragma journal_mode = wal; pragma synchronous = normal; pragma secure_delete = on;
      create table if not exists sessions (name text primary key, state text not null);
      create table if not exists forgotten (name text primary key);
      create virtual table if not exists turns using fts5(
        text, session unindexed, n unindexed, at unindexed, who unindexed, tokenize = 'porter unicode61');
      insert into turns(turns, rank) values ('secure-delete', 1);`);
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  /** Names of the sessions that the user has hidden. */
  forgotten(): Set<string> {
    const rows = this.#db.prepare('select name from forgotten').all() as { name: string }[];
    return new Set(rows.map(({ name }) => name));
  }

  /**
   * Deletes the texts of the sessions in `names` or, if `names` is null, of all sessions. With `hide`, also hides
   * the sessions.
   */
  forget(names: readonly string[] | null, hide: boolean): void {
    const sources =
      names ??
      (this.#db.prepare('select name from sessions').all() as { name: string }[]).map(({ name }) => name);
    this.#transaction(() => {
      for (const name of sources) {
        this.#remove(name);
        if (hide) this.#db.prepare('insert or ignore into forgotten values (?)').run(name);
      }
    });
    this.#db.exec('vacuum; pragma wal_checkpoint(truncate);');
  }

  /** Indexes changed sessions until the time limit. Returns the number of changed sessions that remain. */
  async update(
    sessions: readonly SessionInfo[],
    read: (session: SessionInfo) => AsyncIterable<Turn>,
  ): Promise<number> {
    const end = Date.now() + SESSION_INDEX_MS;
    const indexed = this.#db.prepare('select state from sessions where name = ?');
    const changed = sessions.filter(
      (session) => (indexed.get(session.name) as Row | undefined)?.state !== stateOf(session),
    );
    for (const [index, session] of changed.entries()) {
      if (Date.now() > end) return changed.length - index;
      // Ignore an unreadable transcript: its session stays marked as changed, so that the next update tries
      // again.
      await this.#index(session, read(session)).catch(() => {});
    }
    return 0;
  }

  /**
   * Replaces the turns of a session in the index. The session is marked as not indexed until all turns are
   * replaced.
   */
  async #index(session: SessionInfo, turns: AsyncIterable<Turn>): Promise<void> {
    this.#transaction(() => this.#remove(session.name));
    const insert = this.#db.prepare('insert into turns (text, session, n, at, who) values (?, ?, ?, ?, ?)');
    let batch: Turn[] = [];
    const write = () =>
      this.#transaction(() => {
        for (const turn of batch)
          insert.run(splitLetters(turnText(turn)), session.name, turn.n, turn.at, turn.who);
        batch = [];
      });
    for await (const turn of turns) if (batch.push(turn) === BATCH) write();
    write();
    this.#db.prepare('insert or replace into sessions values (?, ?)').run(session.name, stateOf(session));
  }

  #remove(name: string): void {
    this.#db.prepare('delete from sessions where name = ?').run(name);
    this.#db.prepare('delete from turns where session = ?').run(name);
  }

  #transaction(work: () => void): void {
    this.#db.exec('begin immediate');
    try {
      work();
      this.#db.exec('commit');
    } catch (error) {
      this.#db.exec('rollback');
      throw error;
    }
  }

  /** Returns the turns that contain at least one word of the query, best match first. */
  search(query: string, sessions: readonly SessionInfo[], limit: number): TurnHit[] {
    const words = splitLetters(query.toLowerCase()).match(/[\p{L}\p{N}_]+/gu) ?? [];
    const chosen = words.filter((word) => !STOP_WORDS.has(word));
    const terms = [...new Set(chosen.length > 0 ? chosen : words)].slice(0, 40);
    if (terms.length === 0) return [];
    const match = terms.map((word) => `"${word}"${word.length > 3 ? ' *' : ''}`).join(' OR ');
    const names = JSON.stringify(sessions.map(({ name }) => name));
    const found = this.#db
      .prepare(
        `select session, n, at, who, text from turns
         where turns match ? and session in (select value from json_each(?)) order by rank limit ?`,
      )
      .all(match, names, limit) as unknown as FoundTurn[];
    return found.map(({ session: name, text, ...turn }) => {
      const session = sessions.find((each) => each.name === name)!;
      return { session, ...turn, text: joinLetters(text) };
    });
  }
}

type Row = { readonly state: string };

function stateOf({ bytes, updatedAt, id }: SessionInfo): string {
  return `${id} ${bytes} ${updatedAt}`;
}
