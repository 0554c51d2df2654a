import { badRequest, RelayError, tooLarge } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey, uuid, uuidFrom } from '../../base/ids.ts';
import {
  ENVELOPE_NOTE_CHARS,
  ENVELOPE_PAYLOAD_BYTES,
  ENVELOPE_TTL_MAX_S,
  PAGE_ITEMS_MAX,
  THREAD_HOPS,
} from '../../base/limits.ts';
import { ENVELOPE_SCHEMA, type Envelope, type EnvelopeInput } from '../../contract/threads/answers.ts';
import { asJson, fromJson } from '../records.ts';
import { repeatable } from './fold.ts';
import { counterKey } from './keys.ts';
import { bytesOf, isoTime } from './state.ts';
import type { ThreadVerb } from './thread-log.ts';

const DEFAULT_TTL_S = 3_600;

/** The log knows how many hops there were; the counter is for lists of threads, which fold no log. */
export const sendEnvelope: ThreadVerb<'send'> = async (log, caller, id, input) => {
  checkEnvelope(input);
  const { env, engine } = log.deps;
  const { root } = await log.meta(caller, id);
  const key = checkIdempotencyKey(input.idempotency_key) ?? uuid(env);
  const said = JSON.stringify([input.to_capability, input.type, input.schema, input.payload, input.note]);
  const retry = (await repeatable('envelope', key, () => sha256Hex(said)))!;
  const digest = await sha256Hex(`${id}\n${key}`);
  const msg_id = uuidFrom(Uint8Array.from(digest.match(/../g)!, (hex) => Number.parseInt(hex, 16)));
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
    const before = retry.seen(head);
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

/** Those that are still worth reading, oldest first. */
export const listEnvelopes: ThreadVerb<'envelopes'> = async (log, caller, id, o = {}) => {
  const { root } = await log.meta(caller, id);
  const now = log.deps.env.now();
  const found: Envelope[] = [];
  for await (const { event } of log.heads.events(root, 0)) {
    if (event.type !== 'message.sent') continue;
    const envelope = fromJson<Envelope>(event.payload.envelope);
    if (o.after !== undefined && envelope.msg_id === o.after) found.length = 0;
    else if (
      event.at + envelope.ttl * 1000 > now &&
      (o.to === undefined || envelope.to_capability === o.to)
    ) {
      found.push(envelope);
    }
    if (found.length === PAGE_ITEMS_MAX) break;
  }
  return { envelopes: found };
};

function checkEnvelope(input: EnvelopeInput): void {
  if (typeof input.to_capability !== 'string' || !/^[\w.:/@-]{1,128}$/.test(input.to_capability)) {
    throw badRequest('"to_capability" is a name of at most 128 letters, digits and . : / @ -');
  }
  for (const [field, value] of [
    ['type', input.type],
    ['schema', input.schema],
  ] as const) {
    if (value !== undefined && !/^[\w.:/@-]{1,128}$/.test(value))
      throw badRequest(`"${field}" is not a name.`);
  }
  if (input.payload === undefined) throw badRequest('"payload" is missing.');
  if (bytesOf(input.payload) > ENVELOPE_PAYLOAD_BYTES) {
    throw tooLarge(
      'the payload of an envelope',
      ENVELOPE_PAYLOAD_BYTES,
      'Put it into an artifact or push it, and send the reference.',
    );
  }
  if (input.note !== undefined && [...input.note].length > ENVELOPE_NOTE_CHARS) {
    throw badRequest(`A note has at most ${ENVELOPE_NOTE_CHARS} characters.`);
  }
  const { ttl } = input;
  if (ttl !== undefined && !(Number.isFinite(ttl) && ttl >= 1 && ttl <= ENVELOPE_TTL_MAX_S)) {
    throw badRequest(`"ttl" is from 1 to ${ENVELOPE_TTL_MAX_S} seconds.`);
  }
}
