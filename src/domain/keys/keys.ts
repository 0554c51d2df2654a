import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { equalInConstantTime, sha256Hex } from '../../base/hash.ts';
import { toHex } from '../../base/ids.ts';
import {
  AGENT_NAME_CHARS,
  CHANNEL_NAME_CHARS,
  KEY_GRACE_MAX_MS,
  KEY_REMEMBERED_MS,
  KEY_TTL_MAX_MS,
} from '../../base/limits.ts';
import { reaches } from '../../contract/authorize.ts';
import {
  type Caller,
  DEFAULT_SCOPES,
  isAnonymous,
  isRelayAdmin,
  LOCAL_CALLER,
  RELAY_TENANT,
  SCOPES,
  type Scope,
  tenantOf,
} from '../../contract/caller.ts';
import type { CreatedKey, KeyInfo, NewKey, RevokedKey, Self } from '../../contract/keys.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import type { Plans } from '../usage/plans.ts';
import type { KeyUse } from './key-use.ts';
import { KeyWatch } from './key-watch.ts';
import { isApiKey, isShareToken, newApiKey } from './secrets.ts';
import { Shares } from './shares.ts';

/**
 * Hash that is compared if no record is found, so that checking an unknown API key takes as long as checking
 * a known one.
 */
const NO_HASH = '-'.repeat(64);
/** Maximum number of earlier keys that are listed in the record of a rotated key. */
const FORMER_KEYS = 32;

/** API keys. The store contains only the hashes of the keys. */
export class Keys {
  /** Time of the last use of each API key, stored with write-behind. */
  readonly use: KeyUse;
  readonly watch = new KeyWatch((caller) => this.isValid(caller));
  /** Links that give read access to one thread. */
  readonly shares: Shares;
  readonly #access: Pick<Self, 'auth' | 'exposed'>;
  readonly #deps: Deps;
  readonly #byHash: RecordsOf<KeyRecord>;
  readonly #byTenant: RecordsOf<ListedKey>;
  readonly #plans: Plans;

  /** With `auth: 'keys'` callers need an API key, with `open` they need none. */
  constructor(
    deps: Deps & { readonly keyUse: KeyUse },
    plans: Plans,
    { auth = 'open', exposed = false }: Partial<Pick<Self, 'auth' | 'exposed'>> = {},
  ) {
    this.#access = { auth, exposed };
    this.shares = new Shares(deps, this.watch, deps.keyUse, (tenant, id) => this.#endOf(tenant, id));
    this.#deps = deps;
    this.#byHash = recordsOf(deps.engine.records);
    this.#byTenant = recordsOf(deps.engine.records);
    this.#plans = plans;
    this.use = deps.keyUse;
  }

  /**
   * Returns the caller with this API key or share token. Returns null if it is unknown, revoked or expired. Every call
   * reads the store, so a revoked key is rejected immediately.
   */
  async authenticate(secret: string): Promise<Caller | null> {
    if (isShareToken(secret)) return this.shares.authenticate(secret);
    if (!isApiKey(secret)) return null;
    const hash = await sha256Hex(secret);
    const record = (await this.#byHash.get(keyKey(hash)))?.value;
    if (!equalInConstantTime(record?.hash ?? NO_HASH, hash) || !record) return null;
    this.use.note(record.tenant, record.id);
    return callerOf(record);
  }

  /** Returns whether the API key of a long-lived connection still works. */
  async isValid(caller: Caller): Promise<boolean> {
    if (caller.keyId === 'local' || caller.keyId === 'anonymous') return true;
    if (caller.thread !== undefined) return this.shares.isValid(caller);
    const listed = (await this.#byTenant.get(listKey(caller.tenant, caller.keyId)))?.value;
    return listed ? (await this.#byHash.get(keyKey(listed.hash))) !== null : false;
  }

  /** Returns whether an API key is valid, or was replaced by a key that is valid. */
  async isInUse(tenant: string, id: string): Promise<boolean> {
    if (id === LOCAL_CALLER.keyId) return true;
    for (let next: string | undefined = id; next !== undefined; ) {
      const listed: ListedKey | undefined = (await this.#byTenant.get(listKey(tenant, next)))?.value;
      if (listed && (await this.#byHash.get(keyKey(listed.hash))) !== null) return true;
      next = listed?.replaced;
    }
    return false;
  }

  async self(caller: Caller): Promise<Self> {
    if (isAnonymous(caller)) throw new RelayError('unauthorized');
    return {
      ...this.#access,
      tenant: caller.tenant,
      key_id: caller.keyId,
      name: caller.name,
      scopes: caller.scopes,
      channel_prefix: caller.channelPrefix ?? null,
      thread: caller.thread ?? null,
      admin_of_relay: isRelayAdmin(caller),
    };
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
      if (!isRelayAdmin(caller)) {
        throw new RelayError('forbidden', { what: 'Only an admin of the relay itself can change a plan.' });
      }
      await this.#plans.set(tenant, input.plan);
    }
    const plan = await this.#plans.of(tenant);
    const newKey = await this.#make(tenant, draft, plan.name, plan.keys);
    this.#noteActivity('key.created', caller, newKey);
    return newKey;
  }

  async list(caller: Caller, o: { all?: boolean; tenant?: string } = {}): Promise<KeyInfo[]> {
    const tenant = tenantOf(caller, o.tenant);
    const used = await this.use.of(tenant);
    const keys = (await this.#listed(tenant)).filter(
      (key) => (o.all || this.#works(key)) && isReached(caller, key),
    );
    return keys
      .sort((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1))
      .map((key) => describeKey(key, used.get(key.id) ?? null));
  }

  async revoke(caller: Caller, id: string, o: { tenant?: string } = {}): Promise<RevokedKey> {
    const { value: key } = await this.#find(caller, tenantOf(caller, o.tenant), id);
    if (key.revoked === null) {
      await this.#end(key, this.#deps.env.now());
      this.#noteActivity('key.revoked', caller, key);
    }
    const shares_ended = await this.shares.endOf(caller, key.tenant, key.id);
    const used = await this.use.of(key.tenant);
    const revoked = { ...key, revoked: key.revoked ?? this.#deps.env.now() };
    return { ...describeKey(revoked, used.get(key.id) ?? null), shares_ended };
  }

  async rotate(caller: Caller, id: string, o: { grace?: number; tenant?: string } = {}): Promise<CreatedKey> {
    const { value: old, revision } = await this.#find(caller, tenantOf(caller, o.tenant), id);
    if (!this.#works(old)) throw missing();
    checkWithinPrefix(caller, old.prefix);
    const grace = checkGrace(o.grace);
    await this.#checkRotation(old);
    const plan = await this.#plans.of(old.tenant);
    const { name, scopes, prefix, expires } = old;
    const former = [...(old.former ?? []), old.id].slice(-FORMER_KEYS);
    // The plan's limit of keys does not apply, because the new key replaces the old one.
    const newKey = await this.#make(old.tenant, { name, scopes, prefix, expires, former }, plan.name, null);
    const replaced = { ...old, replaced: newKey.id };
    const claimed = await this.#byTenant.put(listKey(old.tenant, id), replaced, {
      expect: revision,
      expiresAt: expires ?? undefined,
    });
    if (claimed === null) {
      // Another caller has rotated or revoked the old key meanwhile. Nobody has seen the new key yet, so
      // delete it.
      await this.revoke(caller, newKey.id, { tenant: old.tenant });
      await this.#byTenant.delete(listKey(old.tenant, newKey.id));
      throw rotated(id);
    }
    await this.shares.handOver(old.tenant, old.id, newKey.id);
    if (grace === 0) await this.#end(replaced, this.#deps.env.now());
    else await this.#expire(replaced, claimed, this.#deps.env.now() + grace);
    this.#noteActivity('key.rotated', caller, newKey);
    return newKey;
  }

  /** Creates the first API key of a relay. Returns null if the relay's own tenant already has a valid key. */
  async createFirst(): Promise<CreatedKey | null> {
    if ((await this.#listed(RELAY_TENANT)).some((key) => this.#works(key))) return null;
    const draft = { name: 'admin', scopes: [...SCOPES], prefix: null, expires: null };
    const plan = await this.#plans.of(RELAY_TENANT);
    return this.#make(RELAY_TENANT, draft, plan.name, null);
  }

  /**
   * Creates an API key. Writes the list entry first and then the record under the hash, which is the commit point. The
   * list entry counts against the plan's limit as soon as it is written, even without the record. So if two callers
   * create the last allowed key at the same time, both may be rejected, but at most one succeeds.
   */
  async #make(
    tenant: string,
    draft: Pick<KeyRecord, 'name' | 'scopes' | 'prefix' | 'expires' | 'former'>,
    plan: string,
    max: number | null,
  ): Promise<CreatedKey> {
    const { env } = this.#deps;
    const secret = newApiKey(env);
    const hash = await sha256Hex(secret);
    const id = `key_${toHex(env.randomBytes(8))}`;
    const record: KeyRecord = { hash, id, tenant, ...draft, created: env.now() };
    const listedKey: ListedKey = { ...record, revoked: null };
    const expiresAt = record.expires ?? undefined;
    await this.#byTenant.put(listKey(tenant, id), listedKey, { expiresAt });
    try {
      if (max !== null) {
        if ((await this.#counted(tenant)) > max) throw new RelayError('too_many_keys', { plan, limit: max });
      }
      await this.#byHash.put(keyKey(hash), record, { expect: 'absent', expiresAt });
    } catch (error) {
      // Ignore errors of this deletion, because the caller needs the first error. A remaining list entry
      // names a key that does not exist.
      await this.#byTenant.delete(listKey(tenant, id)).catch(() => {});
      throw error;
    }
    return { ...describeKey(listedKey, null), key: secret, plan };
  }

  #noteActivity(
    kind: 'key.created' | 'key.revoked' | 'key.rotated',
    { name: by }: Caller,
    { id, name, tenant }: Pick<KeyInfo, 'id' | 'name' | 'tenant'>,
  ): void {
    this.#deps.activity.note(tenant, { kind, by, key: id, name });
  }

  /**
   * Revokes a key. Deletes the record under the hash first. From then on no request with this key is
   * accepted.
   */
  async #end(key: ListedKey, at: number): Promise<void> {
    await this.#byHash.delete(keyKey(key.hash));
    const ended = { ...key, revoked: at };
    this.watch.end(key.id);
    const listed = listKey(key.tenant, key.id);
    await this.#byTenant.put(listed, ended, { expiresAt: at + KEY_REMEMBERED_MS }).catch(async (error) => {
      if (!isRelayError(error, 'store_full')) throw error;
      // The store has no room for the revocation time. A revoked key must not be listed as valid, so delete
      // its entry.
      await this.#byTenant.delete(listed);
    });
  }

  /**
   * Lets a key expire earlier. The record and the list entry are written only at the revision that was read,
   * so a key that is revoked meanwhile stays revoked.
   */
  async #expire(key: ListedKey, listed: number, at: number): Promise<void> {
    const expires = Math.min(at, key.expires ?? at);
    const stored = await this.#byHash.get(keyKey(key.hash));
    if (!stored) return;
    const record = { ...stored.value, expires };
    await this.#byHash.put(keyKey(key.hash), record, { expect: stored.revision, expiresAt: expires });
    const ending = { ...key, expires };
    await this.#byTenant.put(listKey(key.tenant, key.id), ending, { expect: listed, expiresAt: expires });
  }

  /**
   * Throws if the key already has a successor, or if the key that it replaced is still valid. Otherwise
   * repeated rotation would give more valid keys than the plan allows.
   */
  async #checkRotation(key: ListedKey): Promise<void> {
    if (key.replaced) throw rotated(key.id);
    const before = (await this.#listed(key.tenant)).find(
      (one) => one.replaced === key.id && this.#works(one),
    );
    if (!before) return;
    throw new RelayError('conflict', {
      what: `${key.id} cannot be rotated yet: the key that it replaced (${before.id}) is still valid.`,
      hint: `Revoke the old key first: relay keys revoke ${before.id}`,
    });
  }

  /** Counts the valid keys of a tenant. A key whose successor is valid is not counted. */
  async #counted(tenant: string): Promise<number> {
    const working = (await this.#listed(tenant)).filter((key) => this.#works(key));
    const ids = new Set(working.map(({ id }) => id));
    return working.filter(({ replaced }) => replaced === undefined || !ids.has(replaced)).length;
  }

  async #find(caller: Caller, tenant: string, id: string): Promise<{ value: ListedKey; revision: number }> {
    if (!/^key_[0-9a-f]{16}$/.test(id)) throw missing();
    const stored = await this.#byTenant.get(listKey(tenant, id));
    if (!stored || !isReached(caller, stored.value)) throw missing();
    return stored;
  }

  /**
   * Returns the time in ms when an API key expires; null if it never expires, undefined if the key is not
   * valid.
   */
  async #endOf(tenant: string, id: string): Promise<number | null | undefined> {
    if (id === LOCAL_CALLER.keyId) return null;
    const listed = (await this.#byTenant.get(listKey(tenant, id)))?.value;
    return listed && this.#works(listed) ? listed.expires : undefined;
  }

  #listed(tenant: string): Promise<ListedKey[]> {
    return Array.fromAsync(allRecords(this.#byTenant, listPrefix(tenant)), ({ value }) => value);
  }

  #works(key: ListedKey): boolean {
    return key.revoked === null && (key.expires === null || key.expires > this.#deps.env.now());
  }
}

function callerOf({ tenant, id, name, scopes, prefix, former }: KeyRecord): Caller {
  const bound = prefix === null ? {} : { channelPrefix: prefix };
  return { tenant, keyId: id, name, scopes, ...bound, ...(former ? { formerKeys: former } : {}) };
}

/**
 * Returns whether the caller may manage a key. A caller with a channel prefix may manage its own key, and
 * keys whose channel prefix starts with the caller's prefix.
 */
function isReached(caller: Caller, { id, prefix }: ListedKey): boolean {
  return reaches(caller, { channel: prefix, by: id });
}

function checkGrace(seconds: number | undefined): number {
  const ms = (seconds ?? 0) * 1000;
  if (ms >= 0 && ms <= KEY_GRACE_MAX_MS) return Math.round(ms);
  throw badRequest(`The old key can stay valid for at most ${KEY_GRACE_MAX_MS / 1000} seconds.`);
}

function rotated(id: string): RelayError {
  return new RelayError('conflict', {
    what: `The key ${id} was already rotated or revoked.`,
    hint: 'Use the key that replaced it, or create a new one with relay keys create.',
  });
}

function missing(): RelayError {
  return new RelayError('not_found', { what: 'this key', hint: 'See relay keys list.' });
}

/** Checks the name of a key. Others see the name in terminals and prompts, so it must be printable. */
function checkKeyName(name: unknown): string {
  const fine =
    typeof name === 'string' &&
    name.trim() !== '' &&
    name.isWellFormed() &&
    [...name].length <= AGENT_NAME_CHARS &&
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name);
  if (fine) return name;
  throw badRequest(`The name of a key must have 1 to ${AGENT_NAME_CHARS} printable characters.`);
}

function checkScopes(scopes: unknown): Scope[] {
  if (scopes === undefined || scopes === null) return [...DEFAULT_SCOPES];
  const isValid =
    Array.isArray(scopes) && scopes.length > 0 && scopes.every((scope) => SCOPES.includes(scope));
  if (isValid) return SCOPES.filter((scope) => scopes.includes(scope));
  throw badRequest(`"scopes" must be a list of one or more of: ${SCOPES.join(', ')}.`);
}

function checkPrefix(prefix: unknown): string | null {
  if (prefix === undefined || prefix === null || prefix === '') return null;
  const fine = typeof prefix === 'string' && prefix.isWellFormed() && !prefix.includes('\0');
  if (fine && [...prefix].length <= CHANNEL_NAME_CHARS) return prefix;
  throw badRequest(`A channel prefix must be a string of at most ${CHANNEL_NAME_CHARS} characters.`);
}

/** Throws if a key would have access beyond the channel prefix of the caller that creates it. */
function checkWithinPrefix({ name, channelPrefix }: Caller, prefix: string | null): void {
  if (channelPrefix === undefined || prefix?.startsWith(channelPrefix)) return;
  throw new RelayError('forbidden', {
    what: `The key "${name}" can create only keys whose channel prefix starts with "${channelPrefix}".`,
    hint: `Pass a channel prefix such as "${channelPrefix}", or use an admin key without a prefix.`,
  });
}

/** Converts a lifetime in seconds into an expiry in ms. Returns null if the key never expires. */
function checkExpiry(seconds: unknown, now: number): number | null {
  if (seconds === undefined || seconds === null) return null;
  if (typeof seconds === 'number' && seconds >= 1 && seconds * 1000 <= KEY_TTL_MAX_MS) {
    return now + Math.round(seconds * 1000);
  }
  throw badRequest(
    `The lifetime of a key must be from 1 to ${KEY_TTL_MAX_MS / 1000} seconds. Without one, the key is valid until it is revoked.`,
  );
}

/** Record that is stored under the hash of an API key. It is read at every request. */
interface KeyRecord extends Pick<KeyInfo, 'id' | 'tenant' | 'name' | 'scopes'> {
  readonly hash: string;
  readonly prefix: string | null;
  readonly created: number;
  readonly expires: number | null;
  /** Ids of the keys that this key replaced, the latest last. */
  readonly former?: readonly string[];
}

/** Entry in the tenant's list of keys. It stays in the list for a while after the key was revoked. */
interface ListedKey extends KeyRecord {
  readonly revoked: number | null;
  /**
   * Id of the key that replaced this key. While that key is valid, this key does not count against the plan.
   */
  readonly replaced?: string;
}

const keyKey = (hash: string) => `key.${hash}/key`;
const listPrefix = (tenant: string) => `ten.${tenant}/keys/`;
const listKey = (tenant: string, id: string) => listPrefix(tenant) + id;

function describeKey(key: ListedKey, lastUsed: number | null): KeyInfo {
  return {
    id: key.id,
    tenant: key.tenant,
    name: key.name,
    scopes: key.scopes,
    channel_prefix: key.prefix,
    created_at: time(key.created)!,
    expires_at: time(key.expires),
    last_used_at: time(lastUsed),
    revoked_at: time(key.revoked),
  };
}

function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
