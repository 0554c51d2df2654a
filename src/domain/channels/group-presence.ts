import { toHex } from '../../base/ids.ts';
import { MEMBER_TTL_MS } from '../../base/limits.ts';
import type { Deps } from '../deps.ts';
import { membersPrefix } from '../names.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import type { GroupDelivery } from './group-delivery.ts';
import type { GroupLog } from './group-log.ts';

/** Members that one process shows; beyond it a list helps nobody. */
const SHOWN = 200;
/** Members that come and go together are written down once. */
const SETTLE_MS = 50;

type Shown = [name: string, since: number];

/** Who is there, for people who look. One record per process, which vanishes by itself after a crash. */
export class GroupPresence {
  readonly #deps: Deps;
  readonly #records: RecordsOf<Shown[]>;
  readonly #delivery: GroupDelivery;
  readonly #prefix: string;
  readonly #key: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #written = false;
  /** Never rejects: it is only for show, and the next try is not far. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(deps: Deps, log: GroupLog, delivery: GroupDelivery) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
    this.#delivery = delivery;
    this.#prefix = membersPrefix(log.tenant, log.channel, log.group);
    this.#key = this.#prefix + toHex(deps.env.randomBytes(8));
  }

  changed(): void {
    this.#writeIn(SETTLE_MS);
  }

  async everyone(): Promise<{ name: string; since: string }[]> {
    const { items } = await this.#records.list(this.#prefix, { limit: 1000 });
    const elsewhere = items.filter(({ key }) => key !== this.#key).flatMap(({ value }) => value);
    return [...this.#own(), ...elsewhere].map(([name, since]) => ({
      name,
      since: new Date(since).toISOString(),
    }));
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#written) await this.#write(true);
  }

  #own(): Shown[] {
    return Array.from(this.#delivery.members, ({ name, since }): Shown => [name, since]).slice(0, SHOWN);
  }

  #writeIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      void this.#write(this.#delivery.idle);
      if (!this.#delivery.idle) this.#writeIn(MEMBER_TTL_MS / 3);
    }, ms);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  #write(gone: boolean): Promise<unknown> {
    const write = (): Promise<unknown> => {
      this.#written = !gone;
      if (gone) return this.#records.delete(this.#key);
      const expiresAt = this.#deps.env.now() + MEMBER_TTL_MS;
      return this.#records.put(this.#key, this.#own(), { expiresAt });
    };
    this.#writing = this.#writing.then(write).catch(() => {});
    return this.#writing;
  }
}
