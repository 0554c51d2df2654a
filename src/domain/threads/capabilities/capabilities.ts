import { isRelayError, RelayError } from '../../../base/errors.ts';
import { sha256Hex } from '../../../base/hash.ts';
import type { Json, JsonObject } from '../../../base/json.ts';
import { CAPABILITY_TIME_MS } from '../../../base/limits.ts';
import type { Caller } from '../../../contract/caller.ts';
import type { CapabilityInfo, InvokeAnswer, InvokeInput } from '../../../contract/capabilities.ts';
import type { Artifact } from '../../../contract/threads/artifacts.ts';
import type { Deps } from '../../deps.ts';
import { type RecordsOf, recordsOf } from '../../records.ts';
import type { Artifacts } from '../artifacts.ts';
import type { StoredEvent } from '../event.ts';
import { repeatable } from '../fold.ts';
import type { ThreadLog } from '../thread-log.ts';
import type { TokenLedger } from '../token-ledger.ts';
import type { Capability, CapabilityContext, CapabilityResult } from './capability.ts';
import { httpFetch } from './http-fetch.ts';
import { type Registered, Registry } from './registry.ts';
import { retrievalSearch } from './retrieval-search.ts';

/** Where a cached result lies. */
interface Cached {
  readonly thread_id: string;
  readonly ref: string;
}

/** Runs capabilities for threads. A result is an artifact, and is used again while the cache holds it. */
export class Capabilities {
  readonly #deps: Deps;
  readonly #cache: RecordsOf<Cached>;
  readonly #log: ThreadLog;
  readonly #artifacts: Artifacts;
  readonly #ledger: TokenLedger;
  readonly #registry: Registry;
  /** The same thing asked for twice at once is done once. */
  readonly #running = new Map<string, Promise<Artifact>>();

  constructor(
    deps: Deps,
    log: ThreadLog,
    artifacts: Artifacts,
    ledger: TokenLedger,
    more: readonly Capability[] = [],
  ) {
    this.#deps = deps;
    this.#cache = recordsOf(deps.engine.records);
    this.#log = log;
    this.#artifacts = artifacts;
    this.#ledger = ledger;
    const fetches = more.some(({ name }) => name === 'http.fetch') ? [] : [httpFetch(null)];
    this.#registry = new Registry([retrievalSearch, ...fetches, ...more]);
  }

  async list(): Promise<{ capabilities: CapabilityInfo[] }> {
    return { capabilities: this.#registry.list() };
  }

  async invoke(caller: Caller, input: InvokeInput): Promise<InvokeAnswer> {
    const { env } = this.#deps;
    const started = env.now();
    const id = input.thread_id.toLowerCase();
    await this.#log.meta(caller, id);
    const registered = this.#registry.get(input.capability);
    const args = this.#registry.arguments(registered, (input.args ?? {}) as Json);
    const said = canonicalJson(args);
    const retry = await repeatable('capability', input.idempotency_key, () =>
      sha256Hex(`${registered.name}\n${said}`),
    );
    const signal = AbortSignal.timeout(CAPABILITY_TIME_MS);
    const context = this.#context(caller, id, signal);
    const cache_key = await cacheKey(caller, registered, said, context);
    const answer = (artifact: Artifact, cache_hit: boolean): InvokeAnswer => ({
      capability: registered.name,
      preview: artifact.preview,
      artifact_ref: artifact.ref,
      cache_hit,
      cache_key,
      duration_ms: env.now() - started,
    });
    const before = retry?.seen(await this.#log.head(caller, id));
    if (before?.ref !== undefined) return answer(await this.#artifacts.meta(id, before.ref), true);
    const cached = registered.cacheable
      ? await this.#fromCache(caller, id, cache_key, registered.name)
      : null;
    const artifact = cached ?? (await this.#once(caller, id, registered, args, context, cache_key));
    const done = answer(artifact, cached !== null);
    const payload = {
      by: caller.name,
      capability: done.capability,
      cacheable: registered.cacheable,
      cache_hit: done.cache_hit,
      cache_key,
      ref: artifact.ref,
      duration_ms: done.duration_ms,
    };
    const event: StoredEvent = { type: 'capability.invoked', at: env.now(), payload, ...retry?.mark };
    await this.#log.note(caller, id, () => event);
    if (cached) this.#ledger.previewsRead(id, [artifact.tokens.preview]);
    return done;
  }

  #once(
    caller: Caller,
    id: string,
    registered: Registered,
    args: JsonObject,
    context: CapabilityContext,
    cacheKey: string,
  ): Promise<Artifact> {
    const key = `${id}\n${cacheKey}`;
    const running = registered.cacheable ? this.#running.get(key) : undefined;
    if (running) return running;
    const work = this.#run(caller, id, registered, args, context, cacheKey).finally(() =>
      this.#running.delete(key),
    );
    this.#running.set(key, work);
    return work;
  }

  async #run(
    caller: Caller,
    id: string,
    registered: Registered,
    args: JsonObject,
    context: CapabilityContext,
    cacheKey: string,
  ): Promise<Artifact> {
    const { name, capability, cacheable, cache_ttl_sec } = registered;
    const result = await inTime(name, context.signal, capability.run(args, context));
    const { body, type, mime } = contentOf(result);
    const artifact = await this.#artifacts.put(
      caller,
      id,
      { body, type, mime, name: result.name ?? name, source_refs: result.source_refs },
      { capability: name, indexed: capability.indexed ?? true },
    );
    if (cacheable) {
      const value = { thread_id: id, ref: artifact.ref };
      const expiresAt = this.#deps.env.now() + cache_ttl_sec * 1000;
      await this.#cache.put(recordKey(caller, cacheKey), value, { expiresAt });
    }
    return artifact;
  }

  /** From another thread of the same tenant, the result is copied: a reference must not outlive what it refers to. */
  async #fromCache(
    caller: Caller,
    id: string,
    cacheKey: string,
    capability: string,
  ): Promise<Artifact | null> {
    const cached = (await this.#cache.get(recordKey(caller, cacheKey)))?.value;
    if (!cached) return null;
    try {
      await this.#log.meta(caller, cached.thread_id);
      const found = await this.#artifacts.meta(cached.thread_id, cached.ref);
      if (cached.thread_id === id) return found;
      const { type, mime, name, size } = found;
      const source_refs = [`thread:${cached.thread_id}/${cached.ref}`];
      const body = await this.#artifacts.open(found);
      return await this.#artifacts.put(
        caller,
        id,
        { body, size, type, mime, name, source_refs },
        { capability },
      );
    } catch (error) {
      if (isRelayError(error, 'not_found')) return null;
      throw error;
    }
  }

  #context(caller: Caller, id: string, signal: AbortSignal): CapabilityContext {
    return {
      caller,
      thread_id: id,
      signal,
      now: () => this.#deps.env.now(),
      artifactCount: async () => {
        const { totals } = await this.#log.head(caller, id);
        return totals.artifacts - totals.results;
      },
      search: (query, o = {}) => this.#artifacts.search(caller, o.everywhere ? null : id, query, o),
    };
  }
}

const recordKey = (caller: Caller, cacheKey: string) => `ten.${caller.tenant}/capabilities/${cacheKey}`;

/** By content: the same capability, the same arguments in whatever order, and whatever else it depends on. */
async function cacheKey(
  caller: Caller,
  { name, capability }: Registered,
  said: string,
  context: CapabilityContext,
) {
  const salt = (await capability.salt?.(context)) ?? '';
  return sha256Hex(JSON.stringify([caller.tenant, name, said, salt]));
}

/** The same text for the same value, in whatever order its members came. */
function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`);
  return `{${members.join(',')}}`;
}

function contentOf({ content, type, mime }: CapabilityResult) {
  if (content instanceof Uint8Array) return { body: content, type, mime };
  if (typeof content === 'string') {
    return { body: new TextEncoder().encode(content), type: type ?? ('tool_output' as const), mime };
  }
  return {
    body: new TextEncoder().encode(JSON.stringify(content, null, 2)),
    type: type ?? ('json' as const),
    mime,
  };
}

/** Whatever a capability throws is its own failure; what is ours keeps its code. */
async function inTime<T>(capability: string, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener(
      'abort',
      () => reject(new Error(`no answer within ${CAPABILITY_TIME_MS / 1000} s`)),
      {
        once: true,
      },
    );
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    if (isRelayError(error)) throw error;
    throw new RelayError(
      'capability_failed',
      { capability, what: (error as Error)?.message ?? String(error) },
      error,
    );
  }
}
