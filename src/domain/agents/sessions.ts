import { AGENT_MESSAGES_KEPT_MS, SESSION_ALIVE_MS } from '../../base/limits.ts';
import type { Session } from '../../contract/agents.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { checkAgentName, fromSegment, segment } from '../names.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';

const sessionsPrefix = (tenant: string) => `ten.${tenant}/session/`;
const sessionKey = (tenant: string, name: string) => sessionsPrefix(tenant) + segment(name);

/** A session, and the time of the last report from one of its hooks. */
export type SeenSession = Session & { readonly at: number; readonly ended?: boolean };

/** Sessions of coding agents. Each name belongs to one session. */
export class Sessions {
  readonly #deps: Deps;
  readonly #records: RecordsOf<SeenSession>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
  }

  async get(tenant: string, name: string): Promise<SeenSession | null> {
    return (await this.#records.get(sessionKey(tenant, name)))?.value ?? null;
  }

  async *all(tenant: string): AsyncGenerator<readonly [name: string, session: SeenSession]> {
    const prefix = sessionsPrefix(tenant);
    for await (const { key, value } of allRecords(this.#records, prefix))
      yield [fromSegment(key.slice(prefix.length)), value];
  }

  isAlive({ at, ended }: SeenSession): boolean {
    return !ended && at > this.#deps.env.now() - SESSION_ALIVE_MS;
  }

  /**
   * Stores the session under a name and returns the name. If another live session has the wanted name, a
   * number is added to the name. A name that a person chose gets no number: the session replaces the other
   * one.
   */
  async put(tenant: string, baseName: string, session: Session): Promise<string> {
    for (let number = 1; ; number++) {
      const name = checkAgentName(number === 1 ? baseName : `${baseName}-${number}`);
      const outcome = await compareAndSet('a session', async () => {
        const key = sessionKey(tenant, name);
        const stored = await this.#records.get(key);
        const other = stored && stored.value.session !== session.session && this.isAlive(stored.value);
        if (other && !session.named) return 'taken';
        const at = this.#deps.env.now();
        const o = { expect: stored?.revision ?? 'absent', expiresAt: at + AGENT_MESSAGES_KEPT_MS } as const;
        return (await this.#records.put(key, { ...session, at }, o)) === null ? null : 'stored';
      });
      if (outcome === 'stored') return name;
    }
  }

  /**
   * Marks the session as ended. Its record stays, so that messages to this name wait for the next session
   * with the name.
   */
  async end(tenant: string, name: string, session: string): Promise<boolean> {
    const key = sessionKey(tenant, name);
    const stored = await this.#records.get(key);
    if (stored?.value.session !== session) return false;
    const value = { ...stored.value, busy: false, ended: true };
    const expiresAt = this.#deps.env.now() + AGENT_MESSAGES_KEPT_MS;
    return (await this.#records.put(key, value, { expect: stored.revision, expiresAt })) !== null;
  }
}
