import { badRequest, isRelayError, RelayError, tooLarge } from '../../../base/errors.ts';
import { sha256Hex } from '../../../base/hash.ts';
import type { Json, JsonObject } from '../../../base/json.ts';
import { CAPABILITY_ARGS_BYTES, CAPABILITY_TIME_MS, CAPABILITY_TTL_MAX_S } from '../../../base/limits.ts';
import { readText } from '../../../base/utf8.ts';
import type { Caller } from '../../../contract/caller.ts';
import type {
  Artifact,
  ArtifactInput,
  CapabilityInfo,
  Found,
  InvokeAnswer,
  InvokeInput,
} from '../../../contract/threads.ts';
import { JsonSchema } from '../../../formats/json-schema.ts';
import { type RecordsOf, recordsOf } from '../../records.ts';
import { findUnsearched, searchArtifacts } from '../artifact-search.ts';
import { openArtifact, putArtifact, readArtifact } from '../artifacts.ts';
import { idempotentRequest } from '../fold.ts';
import type { ThreadRoot } from '../keys.ts';
import { jsonBytes } from '../state.ts';
import type { ThreadLog } from '../thread-log.ts';
import { httpFetch, retrievalSearch } from './built-in.ts';
import type { Capability, CapabilityContext, CapabilityResult } from './capability.ts';

const DEFAULT_TTL_S = 300;

interface Registered extends CapabilityInfo {
  readonly capability: Capability;
  readonly schema: JsonSchema;
}

/** Location of a cached result. */
type Cached = Pick<Artifact, 'thread_id' | 'ref'>;

/** A call of a capability in a thread. */
interface Invocation extends Registered {
  readonly caller: Caller;
  readonly id: string;
  readonly args: JsonObject;
  readonly context: CapabilityContext;
  readonly cacheKey: string;
}

/** Runs capabilities in threads. A result is stored as an artifact and reused while it is cached. */
export class Capabilities {
  readonly #log: ThreadLog;
  readonly #cache: RecordsOf<Cached>;
  readonly #byName: ReadonlyMap<string, Registered>;
  /** Running calls by thread and cache key. Concurrent equal calls share one run if the result is cacheable. */
  readonly #running = new Map<string, Promise<Artifact>>();

  constructor(log: ThreadLog, more: readonly Capability[] = []) {
    this.#log = log;
    this.#cache = recordsOf(log.deps.engine.records);
    const fetches = more.some(({ name }) => name === 'http.fetch') ? [] : [httpFetch(null)];
    this.#byName = registerAll([retrievalSearch, ...fetches, ...more]);
  }

  /** Lists all capabilities, including disabled ones. */
  async list(): Promise<{ capabilities: CapabilityInfo[] }> {
    const capabilities = [...this.#byName.values()].map(({ capability, schema: _, ...info }) => ({
      ...info,
      ...(capability.enabled === false ? { enabled: false as const } : {}),
    }));
    return { capabilities };
  }

  /** Runs a capability in a thread, or returns its cached result. */
  async invoke(caller: Caller, input: InvokeInput): Promise<InvokeAnswer> {
    const log = this.#log;
    const { env } = log.deps;
    const started = env.now();
    const id = input.thread_id.toLowerCase();
    const { root } = await log.meta(caller, id);
    const registered = this.#find(input.capability);
    const { name, capability, cacheable } = registered;
    const args = checkArguments(registered, input.args ?? {});
    const canonicalArgs = canonicalJson(args);
    const retry = await idempotentRequest('capability', input.idempotency_key, () =>
      sha256Hex(`${name}\n${canonicalArgs}`),
    );
    const context = this.#context(caller, id);
    // The cache key depends on the capability, its arguments (in any order) and its salt.
    const salt = (await capability.salt?.(context)) ?? '';
    // An API key with a channel prefix cannot see all threads, so its results are cached for this key
    // alone.
    const reach = caller.channelPrefix === undefined ? [] : [caller.keyId];
    const cache_key = await sha256Hex(JSON.stringify([caller.tenant, name, canonicalArgs, salt, ...reach]));
    const answer = async (artifact: Artifact, cache_hit: boolean): Promise<InvokeAnswer> => ({
      capability: name,
      preview: { ...artifact.preview, ...(await this.#foundPreview(capability, root, artifact)) },
      artifact_ref: artifact.ref,
      cache_hit,
      cache_key,
      duration_ms: env.now() - started,
    });
    const before = retry?.previousUse(await log.head(caller, id));
    if (before?.ref !== undefined) return await answer(await readArtifact(log, root, before.ref), true);
    const invocation = { ...registered, caller, id, args, context, cacheKey: cache_key };
    const cached = cacheable ? await this.#fromCache(invocation) : null;
    const artifact = cached ?? (await this.#once(invocation));
    const done = await answer(artifact, cached !== null);
    const payload = {
      by: caller.name,
      capability: name,
      cacheable,
      cache_hit: done.cache_hit,
      cache_key,
      ref: artifact.ref,
      duration_ms: done.duration_ms,
    };
    await log.note(caller, id, { type: 'capability.invoked', at: env.now(), payload, ...retry?.mark });
    log.ledger.countRead(root, 'previews', done.preview);
    return done;
  }

  /**
   * Returns the additional fields of the preview. Returns undefined if the content was deleted or the capability
   * defines no additional fields.
   */
  async #foundPreview(
    { found }: Capability,
    root: ThreadRoot,
    artifact: Artifact,
  ): Promise<Found | undefined> {
    if (!found || artifact.deleted_at !== undefined) return undefined;
    return found(JSON.parse(await readText(await openArtifact(this.#log, root, artifact))) as Json);
  }

  #find(name: string): Registered {
    const found = this.#byName.get(name);
    if (found && found.capability.enabled !== false) return found;
    const what = `capability ${name.slice(0, 64)}`;
    throw new RelayError(
      'not_found',
      found
        ? {
            message: `The ${what} is disabled on this relay.`,
            hint: 'Its operator can enable it: relay config set http_fetch true, then restart the relay.',
          }
        : { what, hint: 'List all capabilities with: relay cap list' },
    );
  }

  #once(invocation: Invocation): Promise<Artifact> {
    const key = `${invocation.id}\n${invocation.cacheKey}`;
    const running = invocation.cacheable ? this.#running.get(key) : undefined;
    if (running) return running;
    const work = this.#run(invocation).finally(() => this.#running.delete(key));
    this.#running.set(key, work);
    return work;
  }

  async #run(invocation: Invocation): Promise<Artifact> {
    const { caller, id, name, capability, args, context } = invocation;
    const result = await withTimeout(name, context.signal, capability.run(args, context));
    const { source_refs, mime } = result;
    const input = { ...encodeContent(result), mime, name: result.name ?? name, source_refs };
    const { indexed } = capability;
    const artifact = await putArtifact(this.#log, caller, id, input, { capability: name, indexed });
    if (invocation.cacheable) {
      const expiresAt = this.#log.deps.env.now() + invocation.cache_ttl_sec * 1000;
      await this.#cache.put(recordKey(invocation), { thread_id: id, ref: artifact.ref }, { expiresAt });
    }
    return artifact;
  }

  /**
   * Returns a cached result, or null. A result from another thread is copied into this thread, because a
   * reference must not outlive its artifact.
   */
  async #fromCache(invocation: Invocation): Promise<Artifact | null> {
    const cached = (await this.#cache.get(recordKey(invocation)))?.value;
    if (!cached) return null;
    const { caller, id, name: capability } = invocation;
    try {
      const { root } = await this.#log.meta(caller, cached.thread_id);
      const found = await readArtifact(this.#log, root, cached.ref);
      if (found.deleted_at !== undefined) return null;
      if (cached.thread_id === id) return found;
      const { type, mime, name, size } = found;
      const source_refs = [`thread:${cached.thread_id}/${cached.ref}`];
      const body = await openArtifact(this.#log, root, found);
      const input = { body, size, type, mime, name, source_refs };
      return await putArtifact(this.#log, caller, id, input, { capability });
    } catch (error) {
      if (isRelayError(error, 'not_found')) return null;
      throw error;
    }
  }

  #context(caller: Caller, id: string): CapabilityContext {
    const log = this.#log;
    return {
      caller,
      thread_id: id,
      signal: AbortSignal.timeout(CAPABILITY_TIME_MS),
      now: () => log.deps.env.now(),
      artifactCount: async () => {
        const { totals } = await log.head(caller, id);
        return totals.artifacts - totals.results;
      },
      search: (query, o = {}) => searchArtifacts(log, caller, o.everywhere ? null : id, query, o),
      unsearched: (o = {}) => findUnsearched(log, caller, o.everywhere ? null : id),
    };
  }
}

/** Checks all capabilities and returns them by name. Throws at startup if one is invalid. */
function registerAll(capabilities: readonly Capability[]): ReadonlyMap<string, Registered> {
  const byName = new Map<string, Registered>();
  for (const capability of capabilities) {
    const one = register(capability);
    if (byName.has(one.name)) throw invalidCapability(one.name, 'another capability has the same name');
    byName.set(one.name, one);
  }
  return byName;
}

/** Checks a capability. Throws with the reason if it cannot be used. */
export function register(capability: Capability): Registered {
  const { name, description, args_schema, cacheable = false, cache_ttl_sec = DEFAULT_TTL_S } = capability;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*$/.test(name) || name.length > 64) {
    throw invalidCapability(String(name), 'its name must be lower-case words joined by dots');
  }
  if (typeof description !== 'string') throw invalidCapability(name, 'it has no description');
  if (typeof capability.run !== 'function') throw invalidCapability(name, 'it has no run function');
  if (!(cache_ttl_sec >= 1 && cache_ttl_sec <= CAPABILITY_TTL_MAX_S))
    throw invalidCapability(name, 'its cache_ttl_sec is out of range');
  try {
    const schema = new JsonSchema({ type: 'object', ...args_schema });
    return { name, description, args_schema, cacheable, cache_ttl_sec, capability, schema };
  } catch (error) {
    throw invalidCapability(name, `its schema is invalid: ${(error as Error).message}`);
  }
}

function invalidCapability(name: string, what: string): RelayError {
  return badRequest(`The capability ${name} cannot be used: ${what}.`);
}

const recordKey = ({ caller, cacheKey }: Invocation) => `ten.${caller.tenant}/capabilities/${cacheKey}`;

function checkArguments({ name, schema }: Registered, args: JsonObject): JsonObject {
  if (jsonBytes(args) > CAPABILITY_ARGS_BYTES)
    throw tooLarge('the arguments of a capability', CAPABILITY_ARGS_BYTES);
  const problem = schema.check(args);
  if (problem) throw new RelayError('bad_arguments', { capability: name, what: problem });
  return args;
}

/** Serializes JSON with sorted keys, so that equal values give equal text. */
function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`);
  return `{${members.join(',')}}`;
}

function encodeContent({ content, type }: CapabilityResult): Pick<ArtifactInput, 'body' | 'type'> {
  if (content instanceof Uint8Array) return { body: content, type };
  const encode = (text: string) => new TextEncoder().encode(text);
  if (typeof content === 'string') return { body: encode(content), type: type ?? 'tool_output' };
  return { body: encode(JSON.stringify(content, null, 2)), type: type ?? 'json' };
}

/** Waits for `work` until the signal aborts. An error that is not a RelayError becomes `capability_failed`. */
async function withTimeout<T>(capability: string, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const giveUp = () => late.reject(new Error(`no answer within ${CAPABILITY_TIME_MS / 1000} s`));
  signal.addEventListener('abort', giveUp);
  try {
    return await Promise.race([work, late.promise]);
  } catch (error) {
    if (isRelayError(error)) throw error;
    throw new RelayError(
      'capability_failed',
      { capability, what: (error as Error)?.message ?? String(error) },
      error,
    );
  }
}
