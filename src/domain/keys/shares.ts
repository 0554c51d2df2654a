import { badRequest, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { toHex } from '../../base/ids.ts';
import { SHARE_NAME_CHARS, SHARE_TTL_MAX_S, SHARE_TTL_S, SHARES_MAX } from '../../base/limits.ts';
import { reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { CreatedShare, NewShare, ShareInfo, shares } from '../../contract/keys.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import type { Serves } from '../relay-binding.ts';
import type { KeyUse } from './key-use.ts';
import type { KeyWatch } from './key-watch.ts';
import { newShareToken } from './secrets.ts';

/** A share link. This record is stored under the hash of the token and in the list of the tenant. */
interface ShareRecord {
  readonly id: string;
  readonly hash: string;
  readonly tenant: string;
  readonly thread: string;
  readonly name: string;
  readonly by: string;
  /** Id of the API key that created the link. Absent in links of versions before 0.3. */
  readonly key?: string;
  readonly created: number;
  readonly expires: number;
}

const shareKey = (hash: string) => `shr.${hash}/share`;
const listPrefix = (tenant: string) => `ten.${tenant}/shares/`;
const listKey = (tenant: string, id: string) => listPrefix(tenant) + id;

/**
 * Returns the time in ms when an API key expires; null if it never expires, undefined if the key is not
 * valid.
 */
type KeyEnd = (tenant: string, keyId: string) => Promise<number | null | undefined>;

/**
 * Links that give read access to one thread. The store contains only the hashes of their tokens, as for API
 * keys.
 */
export class Shares implements Serves<typeof shares> {
  /** Rejects if the thread does not exist or the caller may not access it. */
  checkThread: (caller: Caller, id: string) => Promise<unknown> = async () => {};
  /** Time of the last use of each share link, stored with write-behind. */
  readonly use: KeyUse;
  readonly #deps: Deps;
  readonly #keyEnd: KeyEnd;
  readonly #watch: Pick<KeyWatch, 'end'>;
  readonly #records: RecordsOf<ShareRecord>;

  constructor(deps: Deps, watch: Pick<KeyWatch, 'end'>, use: KeyUse, keyEnd: KeyEnd) {
    this.use = use;
    this.#keyEnd = keyEnd;
    this.#deps = deps;
    this.#watch = watch;
    this.#records = recordsOf(deps.engine.records);
  }

  /**
   * Creates a share link. Writes the list entry first and then the record under the hash, which is the commit
   * point.
   */
  async create(caller: Caller, input: NewShare): Promise<CreatedShare> {
    const { env, activity } = this.#deps;
    const thread = String(input.thread_id).toLowerCase();
    await this.checkThread(caller, thread);
    const name = (input.name ?? '').trim();
    if ([...name].length > SHARE_NAME_CHARS)
      throw badRequest(`The name of a share link can have at most ${SHARE_NAME_CHARS} characters.`);
    const seconds = input.expires_in ?? SHARE_TTL_S;
    if (!(seconds >= 1 && seconds <= SHARE_TTL_MAX_S))
      throw badRequest(`The lifetime of a share link must be from 1 to ${SHARE_TTL_MAX_S} seconds.`);
    if ((await this.#all(caller.tenant)).length >= SHARES_MAX)
      throw badRequest(
        `There are already ${SHARES_MAX} share links, which is the limit.`,
        'Revoke links that are no longer needed.',
      );
    const token = newShareToken(env);
    const hash = await sha256Hex(token);
    const created = env.now();
    const id = `share_${toHex(env.randomBytes(8))}`;
    const { tenant, keyId: key, name: by } = caller;
    const keyEnd = (await this.#keyEnd(tenant, key)) ?? Number.POSITIVE_INFINITY;
    const expires = Math.min(created + Math.round(seconds * 1000), keyEnd);
    const share: ShareRecord = { id, hash, tenant, thread, name, by, key, created, expires };
    await this.#records.put(listKey(tenant, id), share, { expiresAt: expires });
    await this.#records.put(shareKey(hash), share, { expiresAt: expires });
    activity.note(tenant, { kind: 'share.created', by, share: id, thread });
    return { ...describe(share, null), token, path: `/ui/share/${thread}#token=${token}` };
  }

  async list(caller: Caller, o: { thread_id?: string } = {}): Promise<{ shares: ShareInfo[] }> {
    const used = await this.use.of(caller.tenant);
    const threadId = o.thread_id?.toLowerCase();
    const shares = (await this.#all(caller.tenant))
      .filter(({ thread }) => threadId === undefined || thread === threadId)
      .filter(({ key }) => reaches(caller, { by: key }))
      .sort((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1));
    return { shares: shares.map((share) => describe(share, used.get(share.id) ?? null)) };
  }

  /**
   * Revokes a share link. Deletes the record under the hash first. From then on no request with this link is
   * accepted.
   */
  async revoke(caller: Caller, id: string): Promise<void> {
    const { tenant } = caller;
    const share = /^share_[0-9a-f]{16}$/.test(id)
      ? (await this.#records.get(listKey(tenant, id)))?.value
      : null;
    if (!share || !reaches(caller, { by: share.key }))
      throw new RelayError('not_found', { what: 'this share link', hint: 'See GET /shares.' });
    await this.#end(caller, share);
  }

  /** Revokes all share links of a revoked API key. Returns the number of links. */
  async endOf(caller: Caller, tenant: string, keyId: string): Promise<number> {
    const ending = (await this.#all(tenant)).filter(({ key }) => key === keyId);
    for (const share of ending) await this.#end(caller, share);
    return ending.length;
  }

  /**
   * Assigns the share links of an API key to its successor. A link that is revoked meanwhile stays revoked.
   */
  async handOver(tenant: string, from: string, to: string): Promise<void> {
    for (const { key, id, hash } of await this.#all(tenant)) {
      if (key !== from) continue;
      for (const at of [shareKey(hash), listKey(tenant, id)]) {
        const stored = await this.#records.get(at);
        if (!stored) break;
        const { value, revision } = stored;
        await this.#records.put(at, { ...value, key: to }, { expect: revision, expiresAt: value.expires });
      }
    }
  }

  async #end({ name: by }: Caller, { id, hash, tenant, thread }: ShareRecord): Promise<void> {
    await this.#records.delete(shareKey(hash));
    this.#watch.end(id);
    if (await this.#records.delete(listKey(tenant, id)))
      this.#deps.activity.note(tenant, { kind: 'share.revoked', by, share: id, thread });
  }

  /**
   * Returns the caller with this token. Returns null if the token is unknown, revoked or expired, or if the
   * API key that created the link is not valid.
   */
  async authenticate(token: string): Promise<Caller | null> {
    const share = (await this.#records.get(shareKey(await sha256Hex(token))))?.value;
    if (!share || !(await this.#hasKey(share))) return null;
    const { tenant, id, thread, name } = share;
    this.use.note(tenant, id);
    return { tenant, keyId: id, name: name || 'share link', scopes: ['threads'], thread };
  }

  async isValid({ tenant, keyId }: Caller): Promise<boolean> {
    const share = (await this.#records.get(listKey(tenant, keyId)))?.value;
    if (!share || !(await this.#hasKey(share))) return false;
    return (await this.#records.get(shareKey(share.hash))) !== null;
  }

  async #hasKey({ tenant, key }: ShareRecord): Promise<boolean> {
    return key === undefined || (await this.#keyEnd(tenant, key)) !== undefined;
  }

  #all(tenant: string): Promise<ShareRecord[]> {
    return Array.fromAsync(allRecords(this.#records, listPrefix(tenant)), ({ value }) => value);
  }
}

function describe(
  { id, thread, name, by, key, created, expires }: ShareRecord,
  used: number | null,
): ShareInfo {
  return {
    id,
    thread_id: thread,
    name,
    created_by: by,
    key_id: key ?? null,
    created_at: new Date(created).toISOString(),
    expires_at: new Date(expires).toISOString(),
    last_used_at: used === null ? null : new Date(used).toISOString(),
  };
}
