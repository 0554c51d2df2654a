import { countRead, joinBodies, readOut, replaceInvalid } from '../../base/byte-streams.ts';
import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { checkIdempotencyKey, markedId, ownKey, toHex, uuid } from '../../base/ids.ts';
import { EXCERPT_MAX_TOKENS } from '../../base/limits.ts';
import type { TokenCount } from '../../base/tokens.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import type { ActivityKind } from '../../contract/activity.ts';
import { authorize } from '../../contract/authorize.ts';
import { type Caller, type CallerAt, doneBy, isAnonymous } from '../../contract/caller.ts';
import { OUTPUT, OUTPUT_PART, outputParts } from '../../contract/outputs.ts';
import { handleOf, pointerUrl } from '../../contract/pointer-url.ts';
import {
  type Cost,
  type LocalOptions,
  type OutputReport,
  type Part,
  type PartRequest,
  type Peeked,
  type PointerPage,
  type PointerQuery,
  type Pulled,
  type PullOptions,
  type Pushed,
  type PushInput,
  type PushOptions,
  pointers,
  type Renewed,
} from '../../contract/pointers.ts';
import { TASK_CHANNEL } from '../../contract/tasks.ts';
import { type AnnouncingEntry, compareAndSet, type Staged } from '../../kernel/records.ts';
import { cutRange } from '../../kernel/validate-input.ts';
import { usesPull } from '../../text/parts/part-request.ts';
import { meterBody } from '../bodies.ts';
import type { Channels } from '../channels/channels.ts';
import type { Deps } from '../deps.ts';
import { receiptsKey } from '../names.ts';
import type { Receipts } from '../receipts/receipts.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import { storeSecret } from '../store-secret.ts';
import type { TaskResults } from '../tasks/results.ts';
import { workFor } from '../text-work.ts';
import { reportOutputs } from './output-report.ts';
import {
  type Allowance,
  type CheckedOptions,
  checkOptions,
  countPush,
  derivedId,
  type GiveBack,
  giveBack,
  requestFingerprint,
} from './push-options.ts';
import {
  blobKey,
  countPull,
  describe,
  type Handles,
  isResult,
  keptUntil,
  type Loaded,
  newRecord,
  notFound,
  PointerList,
  type PointerLookup,
  type PointerRecord,
  pullsKey,
  pullsLeft,
  pushedAs,
  recordKey,
  refuseCiphertext,
  type SettledPush,
} from './record.ts';
import { openPayload, type Payload, renewPointers } from './renewal.ts';

interface PointerParts {
  readonly deps: Deps;
  readonly lookup: PointerLookup;
  readonly channels: Channels;
  readonly receipts: Receipts;
  readonly allowance: Allowance;
  readonly results: Pick<TaskResults, 'admit' | 'keep' | 'note'>;
  readonly handles: Handles;
}

/** Stores payloads under short ids. */
export class Pointers {
  readonly #parts: PointerParts;
  readonly #records: RecordsOf<PointerRecord>;
  readonly #secret: ReturnType<typeof storeSecret>;
  readonly #list: PointerList;

  constructor(parts: PointerParts) {
    this.#parts = parts;
    this.#records = recordsOf(parts.deps.engine.records);
    this.#secret = storeSecret(parts.deps);
    this.#list = new PointerList(parts.deps, parts.lookup);
  }

  /**
   * Pushes a payload. The caller is authorized again when the options are known, because in a JSON envelope
   * the channel may come after the data.
   */
  async push(caller: CallerAt, input: PushInput): Promise<Pushed> {
    const { results } = this.#parts;
    const budget = input.excerpt;
    if (budget !== undefined && !(Number.isInteger(budget) && budget >= 1 && budget <= EXCERPT_MAX_TOKENS))
      throw badRequest(`"excerpt" must be a number of tokens from 1 to ${EXCERPT_MAX_TOKENS}.`);
    // Anybody can compute the idempotency key of a task's result, because it is derived from the task's id.
    // So the push of a caller that may settle the task uses a reserved form of the key. Other callers cannot
    // use this form, so they cannot block the result with a push of their own.
    const settles = !input.late && isResult(input) && (await results.admit(caller, input.metadata!));
    const key = input.idempotency_key;
    const idempotency_key = settles && key === settles.key ? ownKey(key) : key;
    const { id, ...pushed } = await this.store(caller, { ...input, idempotency_key }, async (options) => {
      authorize(caller, pointers.push, { channel: options.channel, metadata: options.metadata });
      if (input.late && isResult(options)) await results.admit(caller, options.metadata);
    });
    const excerpt = budget === undefined ? {} : await this.#excerpt(caller, id, budget);
    return { url: pointerUrl(caller.base, id), id, ...pushed, ...excerpt };
  }

  /**
   * Stores a payload and announces it. Other parts of the domain call it too, for example to push the result
   * of a task. `admit` may reject the push when its options are known. Writing the record is the commit
   * point. A blob without a record is an orphan, which the sweep deletes. A retry with the same idempotency
   * key gets the same pointer id, and each pointer id is announced at most once. So if a crash prevented the
   * announcement, a retry adds it.
   */
  async store(
    caller: Caller,
    input: PushInput,
    admit: (options: CheckedOptions) => Promise<void> = async () => {},
  ): Promise<Omit<Pushed, 'url'>> {
    const { allowance, channels, receipts, results, handles } = this.#parts;
    const { engine, env } = this.#parts.deps;
    const terms = await allowance.terms(caller);
    const checked = async (o: PushOptions) => {
      const options = checkOptions(o, terms);
      await admit(options);
      return options;
    };
    const early = input.late ? null : await checked(input);
    const repeatable = checkIdempotencyKey(input.idempotency_key);
    const own = repeatable ? await derivedId(await this.#secret(), caller, repeatable) : uuid(env);
    const id = markedId(own, env);
    const metered = meterBody(input.body, input.size, terms.payloadBytes);
    const blob = blobKey(id, toHex(env.randomBytes(8)));
    const isRetry = async () => repeatable !== undefined && (await this.#records.get(recordKey(id))) !== null;
    // Set when the body has arrived completely. The lifetime starts then, and all options are known: in a JSON
    // envelope, they may come after the data.
    let settledPush: SettledPush | undefined;
    const expiresAt = async () => {
      const options = early ?? (await checked({ ...input, ...input.late?.() }));
      if (options.channel !== null && !(await isRetry())) await channels.admit(caller, { id, ...options });
      const [keepMs, handle] = await Promise.all([
        this.#keepMs(caller, options),
        handles.take(caller.tenant),
      ]);
      settledPush = { options, keepMs, handle, created: env.now() };
      return settledPush.created + settledPush.keepMs;
    };
    // A body in memory is stored while its push is counted against the quota, to save time. A stream is
    // read only after the quota allows the push.
    const counting = countPush(allowance, caller, isRetry);
    try {
      if (!(input.body instanceof Uint8Array)) await counting;
      const storing = [blob, metered.body, { size: input.size, expiresAt }] as const;
      // The tokens are counted from the stored body, before the record is written. So `put` stores the body
      // now; `stage` would store it with the record.
      const staged = input.count
        ? { key: blob, ...(await engine.blobs.put(...storing)) }
        : await engine.blobs.stage(...storing);
      const { size, sha256 } = staged;
      const { options } = settledPush!;
      const record = newRecord(caller, settledPush!, {
        blob,
        size,
        sha256,
        text: metered.isText(),
        tokens: input.count
          ? await this.#countBlob(caller, { id, record: { blob, size, text: metered.isText() } })
          : null,
        fingerprint: repeatable ? await requestFingerprint(sha256, options) : null,
      });
      const committed = await this.#commit(caller, id, record, staged, await counting);
      if (committed.blob !== blob) await Promise.all([engine.blobs.delete(blob), giveBack(counting)]);
      const counts = isResult(committed) && (await results.note(caller, id, committed));
      // Announce a result here, after `results.note` has stored it. Announce a retry here too, because a
      // crash may have prevented the first announcement.
      if (committed.channel !== null && (isResult(committed) || committed.blob !== blob)) {
        const pointer = { id, metadata: committed.metadata, sealed_key: options.sealed_key };
        await channels.announce(caller, committed.channel, pointer, { again: repeatable !== undefined });
      }
      if (counts) receipts.result(caller, id, committed.metadata);
      if (committed.blob === blob) notePush(this.#parts.deps, caller, id, committed, counts);
      allowance.note(caller, 'push', size, caller.tenant);
      return pushedAs(id, committed);
    } catch (error) {
      const undo = () => this.#undo(id, blob, counting);
      // If the cluster is unavailable, undo in the background. Otherwise the caller would wait for the
      // cluster a second time.
      if (isRelayError(error, 'cluster_unavailable')) engine.defer(undo);
      else await undo();
      throw error;
    }
  }

  async pull(caller: Caller, id: string, o: PullOptions = {}): Promise<Pulled> {
    const loaded = await this.#parts.lookup.readable(caller, id);
    const { record } = loaded;
    if (o.keyless) refuseCiphertext(record);
    const range = o.range && cutRange(o.range, record.size);
    let body = await openPayload(this.#parts.deps, loaded, range);
    const retried = await countPull(this.#parts.deps, caller, loaded, o, async () => {
      // So far only the beginning of the stream was checked. Read the whole payload here, because a damaged
      // payload must not count as a pull.
      if (!(body instanceof Uint8Array)) await readOut(await openPayload(this.#parts.deps, loaded, range));
    }).catch(async (error) => {
      if (!(body instanceof Uint8Array)) await body.cancel().catch(() => {});
      throw error;
    });
    // The receipt contains the number of bytes that were read, not the number that was requested.
    if (body instanceof Uint8Array) this.#pulled(caller, loaded, body.byteLength, retried);
    else body = countRead(body, (bytes) => this.#pulled(caller, loaded, bytes, retried));
    return { about: describe(record, loaded.id), body, ...(range ? { range } : {}) };
  }

  async part(caller: Caller, id: string, part: PartRequest, o: PullOptions & LocalOptions = {}) {
    const loaded = await this.#parts.lookup.readable(caller, id);
    const pulled = await this.#take(caller, loaded, part, o);
    const bytes = encodeUtf8(pulled.text).byteLength;
    if (usesPull(part, pulled))
      this.#pulled(caller, loaded, bytes, await countPull(this.#parts.deps, caller, loaded, o));
    else if ((await pullsLeft(this.#parts.deps, caller, loaded)) === 0) throw notFound();
    else this.#parts.allowance.note(caller, 'pull', bytes, loaded.record.tenant);
    return pulled;
  }

  async cost(caller: Caller, id: string, part?: PartRequest, o: LocalOptions = {}): Promise<Cost> {
    const loaded = await this.#parts.lookup.readable(caller, id);
    const { record } = loaded;
    refuseCiphertext(record);
    if (part) {
      const text = encodeUtf8((await this.#take(caller, loaded, part, o)).text);
      const count = await workFor(caller, this.#parts.deps.texts).count(text, o);
      return { ...count, bytes: text.byteLength };
    }
    if (record.tokens) return { ...record.tokens, bytes: record.size };
    const count = await this.#countBlob(caller, loaded, o);
    if (!count) throw new RelayError('not_text', { what: 'tokens to count' });
    // Store the count in the record for the next `peek` or `cost`. If the record has changed meanwhile, the
    // count is not stored, and the next call counts again.
    const stored = { expect: loaded.revision, expiresAt: keptUntil(record) };
    await this.#records.put(recordKey(loaded.id), { ...record, tokens: count }, stored);
    return { ...count, bytes: record.size };
  }

  async peek(caller: Caller, id: string): Promise<Peeked> {
    const loaded = await this.#parts.lookup.readable(caller, id);
    const peeked = describe(loaded.record, loaded.id);
    // For an anonymous caller, no pull can be reserved. So each look at an encrypted payload, such as a search, uses up
    // a pull. The number of pulls left would then not say how often the caller can still read the payload, so it is
    // left out.
    const left = isAnonymous(caller) ? null : await pullsLeft(this.#parts.deps, caller, loaded);
    return left === null ? peeked : { ...peeked, pulls_left: left };
  }

  list(caller: CallerAt, o: PointerQuery = {}): Promise<PointerPage> {
    return this.#list.page(caller, o);
  }

  outputs(caller: Caller): Promise<OutputReport> {
    return reportOutputs({ ...this.#parts, list: this.#list }, caller);
  }

  renew(caller: Caller, ids: readonly string[], { ttl }: { ttl?: number } = {}): Promise<Renewed> {
    return renewPointers({ ...this.#parts, list: this.#list }, caller, ids, ttl);
  }

  async delete(caller: Caller, rawId: string): Promise<void> {
    const { engine } = this.#parts.deps;
    // This method deletes the blob after the record. A renewal moves the payload to another blob and changes the
    // record. So delete the record only at the revision that was read: otherwise the new blob would stay as an orphan.
    const { id, record } = await compareAndSet('a pointer', async () => {
      const found = await this.#parts.lookup.own(caller, rawId);
      const { revision: expect } = found;
      return (await engine.records.delete(recordKey(found.id), { expect })) ? found : null;
    });
    await engine.blobs.delete(record.blob);
    await engine.records.delete(pullsKey(id));
    await engine.records.delete(receiptsKey(id));
    await this.#list.remove(id, record);
    for (const part of outputParts(record.metadata))
      if ((await this.#parts.lookup.find(part))?.metadata.kind === OUTPUT_PART)
        await this.delete(caller, part);
    const at = { pointer: id, ...handleOf(record), channel: record.channel ?? undefined };
    this.#parts.deps.activity.note(caller.tenant, { kind: 'pointer.revoked', ...doneBy(caller), ...at });
  }

  /**
   * Writes the record and returns the record that is in the store. If an earlier push with the same idempotency key and
   * the same request came first, this is the record of the earlier push. If the requests differ, throws
   * `idempotency_conflict`.
   */
  async #commit(
    caller: Caller,
    id: string,
    record: PointerRecord,
    staged: Staged,
    counted: GiveBack | null,
  ): Promise<PointerRecord> {
    const options = { expect: 'absent', expiresAt: keptUntil(record), with: [staged] } as const;
    const { channel, metadata, sealed_key } = record;
    const write = async (append?: AnnouncingEntry) => {
      const putting = this.#records.put(recordKey(id), record, { ...options, append });
      return (await Promise.all([putting, this.#list.add(id, record)]))[0];
    };
    if (counted) {
      const revision =
        channel === null || isResult(record)
          ? await write()
          : await this.#parts.channels.announceWith(
              caller,
              channel,
              { id, metadata, sealed_key },
              { again: record.fingerprint !== null },
              write,
            );
      if (revision !== null) return record;
    }
    const first = (await this.#records.get(recordKey(id)))?.value;
    if (counted && first?.handle !== record.handle) await this.#list.remove(id, record);
    if (!first || first.fingerprint !== record.fingerprint) throw new RelayError('idempotency_conflict');
    return first;
  }

  /**
   * Returns how long a pointer is kept, in ms. If its channel has groups, it is kept at least as long as its
   * message.
   */
  async #keepMs(caller: Caller, { channel, ttlMs }: CheckedOptions): Promise<number> {
    const { retentionMs } = this.#parts.channels.settings;
    if (channel === null || ttlMs >= retentionMs) return ttlMs;
    return (await this.#parts.channels.hasGroups(caller.tenant, channel)) ? retentionMs : ttlMs;
  }

  #pulled(caller: Caller, { id, record }: Loaded, bytes: number, retried: boolean): void {
    this.#parts.receipts.pulled(id, caller, bytes, retried);
    this.#parts.allowance.note(caller, 'pull', bytes, record.tenant);
  }

  /**
   * Undoes a failed push: deletes its blob and takes back its count. Does nothing if the record may have
   * been committed, because a record without its blob would be worse than an orphan.
   */
  async #undo(id: string, blob: string, counting: Promise<GiveBack | null>): Promise<void> {
    const stored = await this.#records.get(recordKey(id)).catch(() => undefined);
    if (stored === undefined || stored?.value.blob === blob) return;
    // If the blob cannot be deleted, it is an orphan, which the sweep deletes.
    await Promise.all([this.#parts.deps.engine.blobs.delete(blob).catch(() => {}), giveBack(counting)]);
  }

  async #take(caller: Caller, loaded: Loaded, part: PartRequest, { signal }: LocalOptions): Promise<Part> {
    const { record } = loaded;
    refuseCiphertext(record);
    const texts = workFor(caller, this.#parts.deps.texts);
    if (record.metadata.kind === OUTPUT)
      return texts.part(this.#openOutput(caller, loaded), part, { signal });
    if (!record.text) throw new RelayError('not_text', { what: 'lines, matches or outline' });
    const body = await openPayload(this.#parts.deps, loaded);
    return texts.part(body, part, { signal, size: record.size });
  }

  /** Opens the output of a command with all its parts, as valid UTF-8. */
  #openOutput(caller: Caller, loaded: Loaded): ReadableStream<Uint8Array> {
    const { deps, lookup } = this.#parts;
    const parts = outputParts(loaded.record.metadata).map(
      (id) => async () => openPayload(deps, await lookup.readable(caller, id)),
    );
    return replaceInvalid(joinBodies([() => openPayload(deps, loaded), ...parts]));
  }

  /**
   * Makes the excerpt for the answer of a push. If this fails, the push still succeeds, because the payload
   * is durable already. The answer then contains no excerpt.
   */
  async #excerpt(caller: Caller, id: string, budget: number): Promise<{ excerpt?: string }> {
    try {
      const loaded = await this.#parts.lookup.readable(caller, id);
      refuseCiphertext(loaded.record);
      const body = await openPayload(this.#parts.deps, loaded);
      const texts = workFor(caller, this.#parts.deps.texts);
      return { excerpt: (await texts.excerpt(body, { budget }, { size: loaded.record.size })).text };
    } catch (error) {
      if (isRelayError(error)) return {};
      throw error;
    }
  }

  async #countBlob(
    caller: Caller,
    { id, record }: Payload<'blob' | 'size' | 'text'>,
    { signal }: LocalOptions = {},
  ): Promise<TokenCount | null> {
    if (!record.text) return null;
    const body = await openPayload(this.#parts.deps, { id, record });
    return workFor(caller, this.#parts.deps.texts).count(body, { signal, size: record.size });
  }
}

const SETTLED: { readonly [status: string]: ActivityKind } = {
  done: 'task.done',
  failed: 'task.failed',
  canceled: 'task.canceled',
};

/** Records a push as activity. The push of a task or of a result has its own kind of activity. */
function notePush(
  { activity }: Deps,
  caller: Caller,
  id: string,
  { metadata, channel, size, handle }: PointerRecord,
  isResult: boolean,
): void {
  const at = { pointer: id, ...handleOf({ handle }), size, channel: channel ?? undefined };
  const pushed = { ...doneBy(caller), ...at };
  const settled = isResult ? SETTLED[String(metadata.status)] : undefined;
  if (settled !== undefined)
    activity.note(caller.tenant, { ...pushed, kind: settled, task: String(metadata.task_id).toLowerCase() });
  else if (channel === TASK_CHANNEL || (channel !== null && typeof metadata.done_channel === 'string'))
    activity.note(caller.tenant, { ...pushed, kind: 'task.sent', task: id });
  else activity.note(caller.tenant, { ...pushed, kind: 'pointer.pushed' });
}
