import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The answers of a Go relay about one of its threads. */
export interface LegacyTruth {
  readonly thread: {
    readonly thread_id: string;
    readonly name: string;
    readonly created_at: string;
    readonly hop_count: number;
    readonly state_version: number;
    readonly artifact_count: number;
  };
  readonly state: Record<string, unknown>;
  readonly artifacts: readonly {
    readonly ref: string;
    readonly type: string;
    readonly mime: string;
    readonly name?: string;
    readonly size: number;
    readonly hash: string;
    readonly created_at: string;
  }[];
  readonly events: readonly { readonly id: string; readonly type: string; readonly timestamp: string }[];
}

const SCHEMA = `
  CREATE TABLE states (thread_id TEXT NOT NULL, version INTEGER NOT NULL, data TEXT NOT NULL,
    created_at TEXT NOT NULL, PRIMARY KEY (thread_id, version));
  CREATE TABLE artifacts (ref TEXT PRIMARY KEY, thread_id TEXT NOT NULL, type TEXT NOT NULL, mime TEXT NOT NULL,
    name TEXT, size INTEGER NOT NULL, hash TEXT NOT NULL, preview TEXT NOT NULL, provenance TEXT NOT NULL,
    created_at TEXT NOT NULL, path TEXT NOT NULL);
  CREATE TABLE events (id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL,
    timestamp TEXT NOT NULL);
  CREATE TABLE cache (key TEXT PRIMARY KEY, capability TEXT NOT NULL, args_hash TEXT NOT NULL, preview TEXT NOT NULL,
    artifact_ref TEXT NOT NULL, thread_id TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT NOT NULL,
    hit_count INTEGER DEFAULT 0);
  CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, created_at TEXT NOT NULL, hop_count INTEGER DEFAULT 0);
`;

const NO_METRICS = { cache_hits: 0, cache_misses: 0, tokens_estimate: 0, tokens_avoided: 0, hop_count: 0 };

/** Writes the home of a Go relay: text files, and a database with further data. */
export class LegacyHome implements Disposable {
  readonly dir: string;
  readonly db: DatabaseSync;
  #ticks = 0;

  constructor(dir: string) {
    this.dir = dir;
    mkdirSync(join(dir, 'threads'), { recursive: true });
    writeFileSync(join(dir, 'config.json'), '{"port": 7474, "base_dir": "/srv/old/.relay", "api_token": ""}');
    this.db = new DatabaseSync(join(dir, 'relay.db'));
    this.db.exec(`PRAGMA journal_mode = WAL; ${SCHEMA}`);
  }

  thread(id: string, name: string, hops = 0): LegacyThreadWriter {
    this.db.prepare('INSERT INTO threads VALUES (?, ?, ?, ?)').run(id, name, '2026-02-27T04:23:08Z', hops);
    return new LegacyThreadWriter(this, id, { name, hops });
  }

  /**
   * Advances the clock by a millisecond. Returns it as a Go timestamp with nanoseconds, and as the first hex digits of an id.
   */
  tick(): { time: string; hex: string } {
    const at = Date.UTC(2026, 1, 27, 4, 23, 8) + ++this.#ticks;
    const nanoseconds = String(this.#ticks * 7919)
      .padStart(6, '0')
      .slice(-6);
    return {
      time: new Date(at).toISOString().replace('Z', `${nanoseconds}Z`),
      hex: at.toString(16).padStart(13, '0'),
    };
  }

  [Symbol.dispose](): void {
    this.db.close();
  }
}

export class LegacyThreadWriter {
  readonly #home: LegacyHome;
  readonly #id: string;
  readonly #about: { name: string; hops: number };
  readonly #artifacts: LegacyTruth['artifacts'][number][] = [];
  readonly #events: (LegacyTruth['events'][number] & { payload: object })[] = [];
  /** Every version of the state, oldest first. */
  readonly states: Record<string, unknown>[] = [];

  constructor(home: LegacyHome, id: string, about: { name: string; hops: number }) {
    this.#home = home;
    this.#id = id;
    this.#about = about;
    mkdirSync(join(this.#folder, 'artifacts'), { recursive: true });
    const lists = [
      'facts',
      'constraints',
      'open_questions',
      'decisions',
      'plan',
      'artifacts',
      'last_actions',
    ];
    this.version(Object.fromEntries(lists.map((list) => [list, []])));
    this.event('thread.created', { name: about.name, thread_id: id });
  }

  get #folder(): string {
    return join(this.#home.dir, 'threads', this.#id);
  }

  /** Makes a new version with changed fields, and its event. */
  patch(fields: object): number {
    const version = this.version(fields);
    this.event('state.patch.applied', { ops: Object.keys(fields).length, version });
    return version;
  }

  /** Makes a new version with changed fields, without an event. */
  version(changed: object): number {
    const fields = { ...this.states.at(-1), ...changed };
    const version = this.states.length + 1;
    const head = { $schema: 'com.relay.state.v1', version, thread_id: this.#id };
    const state = { ...fields, ...head, updated_at: this.#home.tick().time, metrics: NO_METRICS };
    this.states.push(state);
    this.#home.db
      .prepare('INSERT INTO states VALUES (?, ?, ?, ?)')
      .run(this.#id, version, JSON.stringify(state), '2026-02-27T04:23:08Z');
    writeFileSync(join(this.#folder, 'state.json'), JSON.stringify(state, null, 2));
    return version;
  }

  /** Adds an artifact and returns its ref. `by` is the type of its event. */
  artifact(
    o: { name?: string; type: string; mime: string; content: string; ext: string },
    by: 'artifact.created' | 'capability.invoked' | 'report.generated' = 'artifact.created',
  ): string {
    const ref = `${this.#home.tick().hex}${createHash('sha256').update(o.content).digest('hex').slice(0, 12)}`;
    const hash = createHash('sha256').update(o.content).digest('hex');
    const size = Buffer.byteLength(o.content);
    const { name = '', type, mime } = o;
    const created_at = '2026-02-27T04:23:09Z';
    this.#artifacts.push({ ref, type, mime, name, size, hash, created_at });
    writeFileSync(join(this.#folder, 'artifacts', `${ref}${o.ext}`), o.content);
    const capabilityField = by === 'capability.invoked' ? { capability: 'retrieval.search' } : {};
    const provenance = { created_by: 'relay', created_at: this.#home.tick().time, ...capabilityField };
    const path = `/srv/old/.relay/threads/${this.#id}/artifacts/${ref}${o.ext}`;
    this.#home.db
      .prepare('INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
      .run(ref, this.#id, type, mime, name, size, hash, '{}', JSON.stringify(provenance), created_at, path);
    if (by === 'artifact.created') this.event(by, { ref, size, type });
    if (by === 'capability.invoked')
      this.event(by, { artifact_ref: ref, cache_hit: false, ...capabilityField });
    if (by === 'report.generated') this.event(by, { artifact_ref: ref, format: 'md' });
    return ref;
  }

  event(type: string, payload: object): string {
    const { time: timestamp, hex } = this.#home.tick();
    const id = `${hex}${String(this.#events.length).padStart(6, '0')}`;
    this.#events.push({ id, type, timestamp, payload });
    this.#home.db
      .prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)')
      .run(id, this.#id, type, JSON.stringify(payload), timestamp);
    const line = `[${timestamp.slice(0, 23)}Z] ${id} ${type} ${JSON.stringify(payload)}\n`;
    writeFileSync(join(this.#folder, 'events.log'), line, { flag: 'a' });
    return id;
  }

  truth(): LegacyTruth {
    const [artifacts, events] = [this.#artifacts, this.#events];
    return {
      thread: {
        thread_id: this.#id,
        name: this.#about.name,
        created_at: '2026-02-27T04:23:08Z',
        hop_count: this.#about.hops,
        state_version: this.states.length,
        artifact_count: artifacts.length,
      },
      state: this.states.at(-1)!,
      artifacts,
      events: events.map(({ id, type, timestamp }) => ({ id, type, timestamp })),
    };
  }
}
