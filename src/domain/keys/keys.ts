import { equalInConstantTime } from '../../base/constant-time.ts';
import type { Env } from '../../base/env.ts';
import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { toHex } from '../../base/ids.ts';
import {
  KEY_GRACE_MAX_MS,
  KEY_REMEMBERED_MS,
  KEY_USE_WAITING,
  KEY_USE_WRITE_MS,
  USAGE_KEPT_MS,
} from '../../base/limits.ts';
import { type Caller, RELAY_TENANT, runsTheRelay, SCOPES, tenantOf } from '../../contract/caller.ts';
import type { CreatedKey, KeyInfo, NewKey } from '../../contract/keys.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import type { Plans } from '../usage/plans.ts';
import { checkExpiry, checkKeyName, checkPrefix, checkScopes, checkWithinPrefix } from './checks.ts';
import { KeyWatch } from './key-watch.ts';
import {
  describeKey,
  type KeyRecord,
  keyKey,
  type ListedKey,
  listKey,
  listPrefix,
  usedKey,
  usedPrefix,
} from './record.ts';

/** Compared with where no record is found, so that a miss takes the same path as a hit. */
const NO_HASH = '-'.repeat(64);

/** API keys. The store holds their hashes and nothing from which a key could be made. */
export class Keys {
  /** When each key was last used; written behind. */
  readonly use: KeyUse;
  readonly watch = new KeyWatch((caller) => this.isValid(caller));
  readonly #deps: Deps;
  readonly #byHash: RecordsOf<KeyRecord>;
  readonly #byTenant: RecordsOf<ListedKey>;
  readonly #plans: Plans;

  constructor(deps: Deps, plans: Plans) {
    this.#deps = deps;
    this.#byHash = recordsOf(deps.engine.records);
    this.#byTenant = recordsOf(deps.engine.records);
    this.#plans = plans;
    this.use = new KeyUse(deps);
  }

  /** Who holds the key; null where it is made up, revoked or has expired. Asks the store every time. */
  async authenticate(secret: string): Promise<Caller | null> {
    if (!SECRET.test(secret)) return null;
    const hash = await sha256Hex(secret);
    const record = (await this.#byHash.get(keyKey(hash)))?.value;
    if (!equalInConstantTime(record?.hash ?? NO_HASH, hash) || !record) return null;
    this.use.note(record.tenant, record.id);
    return callerOf(record);
  }

  /** For what outlives a request: whether the key it began with still works. */
  async isValid(caller: Caller): Promise<boolean> {
    if (caller.keyId === 'local' || caller.keyId === 'anonymous') return true;
    const listed = (await this.#byTenant.get(listKey(caller.tenant, caller.keyId)))?.value;
    return listed ? (await this.#byHash.get(keyKey(listed.hash))) !== null : false;
  }

  async create(caller: Caller, input: NewKey): Promise<CreatedKey> {
    const tenant = tenantOf(caller, input.tenant);
    const { env } = this.#deps;
    const created = env.now();
    const draft = {
      name: checkKeyName(input.name),
      scopes: checkScopes(input.scopes),
      prefix: checkPrefix(input.channel_prefix),
      expires: checkExpiry(input.expires_in, created),
    };
    checkWithinPrefix(caller, draft.prefix);
    if (input.plan !== undefined) {
      if (!runsTheRelay(caller)) {
        throw new RelayError('forbidden', { what: 'Only an admin of the relay itself can change a plan.' });
      }
      await this.#plans.set(tenant, input.plan);
    }
    const plan = await this.#plans.of(tenant);
    return this.#make(tenant, draft, plan.name, plan.keys);
  }

  async list(caller: Caller, o: { all?: boolean; tenant?: string } = {}): Promise<KeyInfo[]> {
    const tenant = tenantOf(caller, o.tenant);
    const used = await this.use.of(tenant);
    const keys = (await this.#listed(tenant)).filter((key) => o.all || this.#works(key));
    return keys
      .sort((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1))
      .map((key) => describeKey(key, used.get(key.id) ?? null));
  }

  async revoke(caller: Caller, id: string, o: { tenant?: string } = {}): Promise<KeyInfo> {
    const { value: key } = await this.#find(tenantOf(caller, o.tenant), id);
    if (key.revoked === null) await this.#end(key, this.#deps.env.now());
    const used = await this.use.of(key.tenant);
    return describeKey({ ...key, revoked: key.revoked ?? this.#deps.env.now() }, used.get(key.id) ?? null);
  }

  async rotate(caller: Caller, id: string, o: { grace?: number; tenant?: string } = {}): Promise<CreatedKey> {
    const { value: old, revision } = await this.#find(tenantOf(caller, o.tenant), id);
    if (!this.#works(old)) throw missing();
    checkWithinPrefix(caller, old.prefix);
    const grace = checkGrace(o.grace);
    await this.#checkRotation(old);
    const plan = await this.#plans.of(old.tenant);
    const { name, scopes, prefix, expires } = old;
    // It takes the place of the old one, so that it fits into the plan whenever the old one did.
    const made = await this.#make(old.tenant, { name, scopes, prefix, expires }, plan.name, null);
    const replaced = { ...old, replaced: made.id };
    const claimed = await this.#byTenant.put(listKey(old.tenant, id), replaced, {
      expect: revision,
      expiresAt: expires ?? undefined,
    });
    if (claimed === null) {
      // Somebody else has rotated or revoked it meanwhile. Nobody has seen the new key yet.
      await this.revoke(caller, made.id, { tenant: old.tenant });
      await this.#byTenant.delete(listKey(old.tenant, made.id));
      throw rotated(id);
    }
    if (grace === 0) await this.#end(replaced, this.#deps.env.now());
    else await this.#expire(replaced, claimed, this.#deps.env.now() + grace);
    return made;
  }

  /** The first key of a relay that is to have keys; null where there already is one. */
  async createFirst(): Promise<CreatedKey | null> {
    if ((await this.#listed(RELAY_TENANT)).some((key) => this.#works(key))) return null;
    const draft = { name: 'admin', scopes: [...SCOPES], prefix: null, expires: null };
    const plan = await this.#plans.of(RELAY_TENANT);
    return this.#make(RELAY_TENANT, draft, plan.name, null);
  }

  /**
   * The list first, then the record under the hash, which is the commit point. Whoever adds a key counts with it on the
   * list: of two that race for the last place both may be refused, and never are both let in.
   */
  async #make(
    tenant: string,
    draft: Pick<KeyRecord, 'name' | 'scopes' | 'prefix' | 'expires'>,
    plan: string,
    max: number | null,
  ): Promise<CreatedKey> {
    const { env } = this.#deps;
    const secret = newSecret(env);
    const hash = await sha256Hex(secret);
    const id = `key_${toHex(env.randomBytes(8))}`;
    const record: KeyRecord = { hash, id, tenant, ...draft, created: env.now() };
    const listed: ListedKey = { ...record, revoked: null };
    const expiresAt = record.expires ?? undefined;
    await this.#byTenant.put(listKey(tenant, id), listed, { expiresAt });
    try {
      if (max !== null) {
        if ((await this.#counted(tenant)) > max) throw new RelayError('too_many_keys', { plan, limit: max });
      }
      await this.#byHash.put(keyKey(hash), record, { expect: 'absent', expiresAt });
    } catch (error) {
      await this.#byTenant.delete(listKey(tenant, id)).catch(() => {});
      throw error;
    }
    return { ...describeKey(listed, null), key: secret, plan };
  }

  /** What is found by the hash goes first: from there on no request gets through. */
  async #end(key: ListedKey, at: number): Promise<void> {
    await this.#byHash.delete(keyKey(key.hash));
    const ended = { ...key, revoked: at };
    this.watch.end(key.id);
    const listed = listKey(key.tenant, key.id);
    await this.#byTenant.put(listed, ended, { expiresAt: at + KEY_REMEMBERED_MS }).catch(async (error) => {
      if (!isRelayError(error, 'store_full')) throw error;
      // There is no room to remember it; what works no longer must not be listed as if it did.
      await this.#byTenant.delete(listed);
    });
  }

  /** A key that is revoked meanwhile stays revoked: both writes ask for what was there. */
  async #expire(key: ListedKey, listed: number, at: number): Promise<void> {
    const expires = Math.min(at, key.expires ?? at);
    const stored = await this.#byHash.get(keyKey(key.hash));
    if (!stored) return;
    const record = { ...stored.value, expires };
    await this.#byHash.put(keyKey(key.hash), record, { expect: stored.revision, expiresAt: expires });
    const ending = { ...key, expires };
    await this.#byTenant.put(listKey(key.tenant, key.id), ending, { expect: listed, expiresAt: expires });
  }

  /** One successor for each key, and one predecessor that still works: else a rotated key would be a key for free. */
  async #checkRotation(key: ListedKey): Promise<void> {
    if (key.replaced) throw rotated(key.id);
    const before = (await this.#listed(key.tenant)).find(
      (one) => one.replaced === key.id && this.#works(one),
    );
    if (!before) return;
    throw new RelayError('conflict', {
      what: `The key that ${key.id} took the place of still works: ${before.id}.`,
      hint: `Revoke it first: relay keys revoke ${before.id}.`,
    });
  }

  /** A key whose successor works does not count beside it. */
  async #counted(tenant: string): Promise<number> {
    const working = (await this.#listed(tenant)).filter((key) => this.#works(key));
    const ids = new Set(working.map(({ id }) => id));
    return working.filter(({ replaced }) => replaced === undefined || !ids.has(replaced)).length;
  }

  async #find(tenant: string, id: string): Promise<{ value: ListedKey; revision: number }> {
    if (!/^key_[0-9a-f]{16}$/.test(id)) throw missing();
    const stored = await this.#byTenant.get(listKey(tenant, id));
    if (!stored) throw missing();
    return stored;
  }

  #listed(tenant: string): Promise<ListedKey[]> {
    return Array.fromAsync(allRecords(this.#byTenant, listPrefix(tenant)), ({ value }) => value);
  }

  #works(key: ListedKey): boolean {
    return key.revoked === null && (key.expires === null || key.expires > this.#deps.env.now());
  }
}

/** When each key was last used. Written behind, a moment later: a request waits for none of it. */
class KeyUse {
  readonly #deps: Deps;
  readonly #records: RecordsOf<number>;
  /** By the key of the record. */
  readonly #seen = new Map<string, number>();
  #isDue = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
  }

  note(tenant: string, id: string): void {
    const key = usedKey(tenant, id);
    if (this.#seen.size >= KEY_USE_WAITING && !this.#seen.has(key)) return;
    this.#seen.set(key, this.#deps.env.now());
    if (this.#isDue) return;
    this.#isDue = true;
    // What cannot be written is written with the next use, or when the relay is tidied.
    this.#deps.engine.defer(() => this.flush(), KEY_USE_WRITE_MS);
  }

  async flush(): Promise<void> {
    this.#isDue = false;
    for (const [key, at] of [...this.#seen]) {
      await this.#records.put(key, at, { expiresAt: at + USAGE_KEPT_MS });
      if (this.#seen.get(key) === at) this.#seen.delete(key);
    }
  }

  /** Of one tenant, by key id; what is not written yet included. */
  async of(tenant: string): Promise<Map<string, number>> {
    const prefix = usedPrefix(tenant);
    const written = await Array.fromAsync(
      allRecords(this.#records, prefix),
      ({ key, value }) => [key, value] as const,
    );
    const own = [...written, ...this.#seen].filter(([key]) => key.startsWith(prefix));
    return new Map(own.map(([key, at]) => [key.slice(prefix.length), at]));
  }
}

const SECRET_PREFIX = 'cr_live_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 40 of 62 characters are 238 bits: nobody finds one by trying. */
const SECRET_CHARS = 40;
const SECRET = new RegExp(`^${SECRET_PREFIX}[0-9A-Za-z]{${SECRET_CHARS}}$`);

/** A new API key. Whoever gets it is the only one to have it: the relay keeps its hash. */
function newSecret(env: Env): string {
  let text = SECRET_PREFIX;
  while (text.length < SECRET_PREFIX.length + SECRET_CHARS) {
    for (const byte of env.randomBytes(SECRET_CHARS)) {
      // The largest multiple of 62 below 256: what is above would favour some characters.
      if (byte < 248 && text.length < SECRET_PREFIX.length + SECRET_CHARS)
        text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}

function callerOf({ tenant, id, name, scopes, prefix }: KeyRecord): Caller {
  return { tenant, keyId: id, name, scopes, ...(prefix === null ? {} : { channelPrefix: prefix }) };
}

function checkGrace(seconds: number | undefined): number {
  const ms = (seconds ?? 0) * 1000;
  if (ms >= 0 && ms <= KEY_GRACE_MAX_MS) return Math.round(ms);
  throw badRequest(`The old key can go on working for at most ${KEY_GRACE_MAX_MS / 1000} seconds.`);
}

function rotated(id: string): RelayError {
  return new RelayError('conflict', {
    what: `The key ${id} has been rotated or revoked already.`,
    hint: 'Use its successor, or make another with relay keys create.',
  });
}

function missing(): RelayError {
  return new RelayError('not_found', { what: 'this key', hint: 'See relay keys list.' });
}
