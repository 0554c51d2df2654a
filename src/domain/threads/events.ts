import { badRequest, RelayError, tooLarge } from '../../base/errors.ts';
import { sha256, sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey, uuid, uuidFrom } from '../../base/ids.ts';
import {
  ENVELOPE_NOTE_CHARS,
  ENVELOPE_PAYLOAD_BYTES,
  ENVELOPE_TTL_MAX_S,
  PAGE_ITEMS_MAX,
  THREAD_HOPS,
} from '../../base/limits.ts';
import {
  ENVELOPE_SCHEMA,
  type Envelope,
  type EnvelopeInput,
  type ThreadEvent,
} from '../../contract/threads.ts';
import { asJson, fromJson } from '../records.ts';
import { LEGACY_EVENT_ID, RESERVED_TYPE, toWire } from './event.ts';
import { idempotentRequest } from './fold.ts';
import { counterKey, logOf, type ThreadRoot } from './keys.ts';
import { isoTime, jsonBytes } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

/**
 * Maximum bytes of a page, even if its `limit` allows more events. A single event can hold a megabyte of
 * operations.
 */
const PAGE_BYTES = 4 * 1024 * 1024;

/**
 * Lists the events of a thread after the event with id `after`, oldest first. `next` is set if there are
 * more.
 */
export const listEvents: ThreadVerb<'events'> = async (log, caller, id, o = {}) => {
  const { root } = await log.meta(caller, id);
  const after = await placeOf(log, root, o.after);
  const limit = o.limit ?? PAGE_ITEMS_MAX;
  const events: ThreadEvent[] = [];
  let bytes = 0;
  const place = await log.heads.nearestPosition(root, after);
  let { count } = place;
  for await (const { event } of log.heads.events(root, place.seq)) {
    count++;
    if (count <= after) continue;
    if (events.length === limit || (bytes > PAGE_BYTES && events.length > 0)) {
      return { events, next: String(count - 1) };
    }
    events.push(toWire(id, count, event));
    bytes += jsonBytes(event.payload);
  }
  return { events };
};

/** Yields the events after `after`, then new events until the signal aborts. */
export const watchEvents: ThreadVerb<'watch'> = async function* (log, caller, id, o) {
  const { root } = await log.meta(caller, id);
  const after = await placeOf(log, root, o.after);
  const place = await log.heads.nearestPosition(root, after);
  let { count } = place;
  const { logs } = log.deps.engine;
  for await (const entry of logs.subscribe(logOf(root), { after: place.seq, signal: o.signal })) {
    count++;
    if (count <= after) continue;
    yield toWire(id, count, await log.heads.withOps(fromJson(entry.data)));
  }
};

/** Appends an event of a type that the client has chosen. The event does not change the state. */
export const recordEvent: ThreadVerb<'record'> = async (log, caller, id, type, payload = {}) => {
  if (!/^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+$/.test(type) || type.length > 64 || RESERVED_TYPE.test(type)) {
    throw badRequest(
      'An event type must be two or more lower-case words joined by dots, such as review.done. Types that the relay writes itself are reserved.',
    );
  }
  return log.note(caller, id, { type, at: log.deps.env.now(), payload: { ...payload, by: caller.name } });
};

/** Returns the number of events up to and including the event with this id. */
async function placeOf(log: ThreadLog, root: ThreadRoot, text: string | undefined): Promise<number> {
  if (text === undefined || text === '') return 0;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (LEGACY_EVENT_ID.test(text)) {
    let count = 0;
    for await (const { event } of log.heads.events(root, 0)) {
      count++;
      if (event.legacy?.id === text) return count;
    }
  }
  throw badRequest(`"${text.slice(0, 40)}" is not an event id.`);
}

const DEFAULT_TTL_S = 3_600;

/**
 * Sends an envelope to a capability: appends it to the log as a `message.sent` event, which counts as a hop. A
 * counter outside the log also counts hops, so that listings need not read logs.
 */
export const sendEnvelope: ThreadVerb<'send'> = async (log, caller, id, input) => {
  checkEnvelope(input);
  const { env, engine } = log.deps;
  const { root } = await log.meta(caller, id);
  const key = checkIdempotencyKey(input.idempotency_key) ?? uuid(env);
  const requestJson = JSON.stringify([
    input.to_capability,
    input.type,
    input.schema,
    input.payload,
    input.note,
  ]);
  const retry = (await idempotentRequest('envelope', key, () => sha256Hex(requestJson)))!;
  const msg_id = uuidFrom(await sha256(`${id}\n${key}`));
  const envelope = (at: number): Envelope => ({
    $schema: ENVELOPE_SCHEMA,
    msg_id,
    thread_id: id,
    from: caller.name,
    to_capability: input.to_capability,
    type: input.type ?? 'request',
    schema: input.schema ?? null,
    payload: input.payload,
    note: input.note ?? null,
    idempotency_key: key,
    timestamp: isoTime(at),
    ttl: input.ttl ?? DEFAULT_TTL_S,
  });
  const { sent, isNew } = await log.commit<{ sent: Envelope; isNew: boolean }>(caller, id, (head) => {
    const before = retry.previousUse(head);
    if (before) return { done: { sent: envelope(before.at), isNew: false } };
    if (head.totals.hops >= THREAD_HOPS) throw new RelayError('too_many_hops', { limit: THREAD_HOPS });
    const at = env.now();
    const payload = { by: caller.name, envelope: asJson(envelope(at)) };
    const event = { type: 'message.sent', at, payload, ...retry.mark };
    return { event, answer: () => ({ sent: envelope(at), isNew: true }) };
  });
  if (isNew) await engine.records.add(counterKey(root, 'hops'), 1);
  return sent;
};

/** Lists envelopes that have not expired, oldest first. */
export const listEnvelopes: ThreadVerb<'envelopes'> = async (log, caller, id, o = {}) => {
  const { root } = await log.meta(caller, id);
  const now = log.deps.env.now();
  const envelopes: Envelope[] = [];
  for await (const { event } of log.heads.events(root, 0)) {
    if (event.type !== 'message.sent') continue;
    const envelope = fromJson<Envelope>(event.payload.envelope);
    if (o.after !== undefined && envelope.msg_id === o.after) envelopes.length = 0;
    else if (
      event.at + envelope.ttl * 1000 > now &&
      (o.to === undefined || envelope.to_capability === o.to)
    ) {
      envelopes.push(envelope);
    }
    if (envelopes.length === PAGE_ITEMS_MAX) break;
  }
  return { envelopes };
};

function checkEnvelope(input: EnvelopeInput): void {
  const { to_capability = '', type = 'request', schema = 'none' } = input;
  for (const [field, name] of Object.entries({ to_capability, type, schema })) {
    if (typeof name !== 'string' || !/^[\w.:/@-]{1,128}$/.test(name))
      throw badRequest(`"${field}" must be a name of at most 128 letters, digits and _ . : / @ -`);
  }
  if (input.payload === undefined) throw badRequest('"payload" is missing.');
  if (jsonBytes(input.payload) > ENVELOPE_PAYLOAD_BYTES) {
    throw tooLarge(
      'the payload of a message to a capability',
      ENVELOPE_PAYLOAD_BYTES,
      'Store it as an artifact or push it, and send the reference.',
    );
  }
  if (input.note !== undefined && [...input.note].length > ENVELOPE_NOTE_CHARS) {
    throw badRequest(`"note" may have at most ${ENVELOPE_NOTE_CHARS} characters.`);
  }
  const { ttl } = input;
  if (ttl !== undefined && !(Number.isFinite(ttl) && ttl >= 1 && ttl <= ENVELOPE_TTL_MAX_S)) {
    throw badRequest(`"ttl" must be a number of seconds from 1 to ${ENVELOPE_TTL_MAX_S}.`);
  }
}
