import { sha256Hex } from '../../base/hash.ts';
import { toHex } from '../../base/ids.ts';
import { TICKET_TTL_MS } from '../../base/limits.ts';
import type { Caller, CallerAt } from '../../contract/caller.ts';
import type { Ground } from '../ground.ts';
import { type RecordsOf, recordsOf } from '../records.ts';

/** Stand-ins for an API key on a WebSocket: good once, for half a minute, at every server of the store. */
export class Tickets {
  readonly #ground: Ground;
  readonly #records: RecordsOf<Caller>;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#records = recordsOf(ground.engine.records);
  }

  async issue({ base: _, ...caller }: CallerAt): Promise<{ ticket: string; expires_at: string }> {
    const { engine, env } = this.#ground;
    const ticket = toHex(env.randomBytes(24));
    const expiresAt = env.now() + Math.max(TICKET_TTL_MS, engine.limits.minTtl);
    await this.#records.put(await ticketKey(ticket), caller, { expiresAt });
    return { ticket, expires_at: new Date(expiresAt).toISOString() };
  }

  /** Null for a ticket that is used up, too old or made up. */
  async redeem(ticket: string): Promise<Caller | null> {
    const key = await ticketKey(ticket);
    const stored = await this.#records.get(key);
    if (!stored || !(await this.#records.delete(key))) return null;
    return stored.value;
  }
}

/** Only the hash is stored, as with API keys. */
async function ticketKey(ticket: string): Promise<string> {
  return `tkt.${await sha256Hex(ticket)}/caller`;
}
