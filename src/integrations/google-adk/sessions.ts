import {
  BaseSessionService,
  type CreateSessionRequest,
  type DeleteSessionRequest,
  type Event,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type Session,
} from '@google/adk';
import { systemEnv } from '../../base/env.ts';
import { badRequest, isRelayError } from '../../base/errors.ts';
import { uuid } from '../../base/ids.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FileSpace } from '../../sdk/files.ts';
import { EntryLog } from '../entry-log.ts';
import { segments } from '../file-names.ts';
import { KeptPointers } from '../kept-pointers.ts';

export interface ContextRelaySessionServiceOptions {
  /** Space of the session files; `adk-sessions` by default. */
  readonly space?: string;
  /** Seconds until entries expire; by default they never do. */
  readonly ttl?: number;
}

type State = Record<string, unknown>;

const META = '/session.json';

/**
 * Stores sessions as files of a relay, so that any process that can reach the relay can continue them. The
 * state of a session is computed: its initial state plus the changes in its events. State with the prefix
 * `app:` or `user:` is in separate files.
 */
export class ContextRelaySessionService extends BaseSessionService {
  readonly #files: FileSpace;
  readonly #ttl: number | undefined;
  readonly #pointers: KeptPointers;

  constructor(relay: ContextRelay, { space = 'adk-sessions', ttl }: ContextRelaySessionServiceOptions = {}) {
    super();
    this.#files = relay.files.space(space);
    this.#ttl = ttl;
    this.#pointers = new KeptPointers(relay, ttl);
  }

  override async createSession(request: CreateSessionRequest): Promise<Session> {
    const { appName, userId, state = {}, sessionId = uuid(systemEnv) } = request;
    const ownState = await this.#share(appName, userId, state);
    const path = (await segments([appName, userId, sessionId])) + META;
    try {
      const metadata = { userId, id: sessionId };
      await this.#files.put(path, JSON.stringify(ownState), { ...this.#options, metadata, ifAbsent: true });
    } catch (error) {
      if (!isRelayError(error, 'file_changed')) throw error;
      throw badRequest(`The session ${sessionId} already exists.`, 'Choose another id, or omit it.');
    }
    const shared = await this.#shared(appName, userId);
    return {
      id: sessionId,
      appName,
      userId,
      state: { ...ownState, ...shared },
      events: [],
      lastUpdateTime: systemEnv.now(),
    };
  }

  override async getSession(request: GetSessionRequest): Promise<Session | undefined> {
    const { appName, userId, sessionId, config } = request;
    const path = (await segments([appName, userId, sessionId])) + META;
    const stored = (await this.#files.read([path])).get(path);
    if (!stored) return undefined;
    const state: State = JSON.parse(stored.text());
    let events = (await (await this.#log(appName, userId, sessionId)).read()) ?? [];
    for (const { actions } of events) Object.assign(state, split(actions?.stateDelta).session);
    const lastUpdateTime = events.at(-1)?.timestamp ?? 0;
    const { numRecentEvents: recent, afterTimestamp: after } = config ?? {};
    if (recent !== undefined) events = recent === 0 ? [] : events.slice(-recent);
    if (after !== undefined) events = events.filter(({ timestamp }) => timestamp >= after);
    Object.assign(state, await this.#shared(appName, userId));
    return { id: sessionId, appName, userId, state, events, lastUpdateTime };
  }

  /** Returns the sessions without their events and state. */
  override async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { appName, userId, limit, offset = 0, page, order } = request;
    const prefix = `${await segments(userId === undefined ? [appName] : [appName, userId])}/`;
    const changed = new Map<string, number>();
    const sessions = new Map<string, Session>();
    for await (const { path, metadata, modified_at } of this.#files.all({ prefix })) {
      const folder = path.split('/').slice(0, 3).join('/');
      changed.set(folder, Math.max(changed.get(folder) ?? 0, Date.parse(modified_at)));
      if (!path.endsWith(META)) continue;
      const { id, userId } = metadata as { id: string; userId: string };
      sessions.set(folder, { id, appName, userId, state: {}, events: [], lastUpdateTime: 0 });
    }
    const found = [...sessions].map(([folder, each]) => ({ ...each, lastUpdateTime: changed.get(folder)! }));
    const sign = order === 'desc' ? -1 : 1;
    if (order) found.sort((a, b) => sign * (a.lastUpdateTime - b.lastUpdateTime));
    const size = limit ?? found.length;
    const start = page === undefined ? offset : (page - 1) * size;
    return {
      sessions: found.slice(start, start + size),
      page: page ?? 1,
      limit: size,
      totalItems: found.length,
      totalPages: Math.max(1, Math.ceil(found.length / Math.max(1, size))),
    };
  }

  override async deleteSession({ appName, userId, sessionId }: DeleteSessionRequest): Promise<void> {
    await this.#files.remove({ prefix: `${await segments([appName, userId, sessionId])}/` });
  }

  override async appendEvent(request: { session: Session; event: Event }): Promise<Event> {
    const event = await super.appendEvent(request);
    if (event.partial) return event;
    const { appName, userId, id } = request.session;
    await this.#share(appName, userId, event.actions?.stateDelta);
    await (await this.#log(appName, userId, id)).append([event]);
    return event;
  }

  get #options() {
    return { contentType: 'application/json', ttl: this.#ttl, keep: 0 };
  }

  async #log(appName: string, userId: string, id: string): Promise<EntryLog<Event>> {
    const prefix = `${await segments([appName, userId, id])}/events/`;
    return new EntryLog(this.#files, prefix, { ttl: this.#ttl, pointers: this.#pointers });
  }

  /** Stores the changes with the prefixes `app:` and `user:`. Returns the changes of the session's own state. */
  async #share(appName: string, userId: string, delta: State | undefined): Promise<State> {
    const { app, user, session } = split(delta);
    await this.#change(await appState(appName), app);
    await this.#change(await userState(appName, userId), user);
    return session;
  }

  /** Merges changes into a state file. Repeats the write if another process changed the file meanwhile. */
  async #change(path: string, changes: State): Promise<void> {
    while (Object.keys(changes).length > 0) {
      const { state, etag } = await this.#state(path);
      try {
        const expected = etag === undefined ? { ifAbsent: true } : { ifMatch: etag };
        await this.#files.put(path, JSON.stringify({ ...state, ...changes }), {
          ...this.#options,
          ...expected,
        });
        return;
      } catch (error) {
        if (!isRelayError(error, 'file_changed')) throw error;
      }
    }
  }

  async #shared(appName: string, userId: string): Promise<State> {
    const [app, user] = await Promise.all([
      this.#state(await appState(appName)),
      this.#state(await userState(appName, userId)),
    ]);
    const prefixed = (prefix: string, state: State) =>
      Object.entries(state).map(([name, value]) => [prefix + name, value]);
    return Object.fromEntries([...prefixed('app:', app.state), ...prefixed('user:', user.state)]);
  }

  async #state(path: string): Promise<{ state: State; etag?: string }> {
    const found = (await this.#files.read([path])).get(path);
    return found ? { state: JSON.parse(found.text()), etag: found.file.etag } : { state: {} };
  }
}

async function appState(appName: string): Promise<string> {
  return `${await segments([appName])}/app-state.json`;
}

async function userState(appName: string, userId: string): Promise<string> {
  return `${await segments([appName, userId])}/user-state.json`;
}

/** Splits changes of the state by their scope. Temporary state is dropped, because it is not stored. */
function split(delta: State = {}): { app: State; user: State; session: State } {
  const parts: { [scope: string]: State } = { app: {}, user: {}, temp: {}, session: {} };
  for (const [name, value] of Object.entries(delta)) {
    const [, scope = 'session', rest = name] = /^(app|user|temp):(.+)$/s.exec(name) ?? [];
    parts[scope]![rest] = value;
  }
  return { app: parts.app!, user: parts.user!, session: parts.session! };
}
