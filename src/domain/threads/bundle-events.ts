import { isRelayError, RelayError } from '../../base/errors.ts';
import { isJsonObject, type Json } from '../../base/json.ts';
import { asJson, fromJson } from '../records.ts';
import { badBundle } from './bundle.ts';
import { type StoredEvent, VERSION_EVENTS } from './event.ts';
import { advance, type Head, linkOps, type MutableHead, stampFor } from './fold.ts';
import { bytesOf, patchState, type Sized } from './state.ts';

/** An event of a bundle, as this relay might have written it. */
export function checkEvent(value: Json): StoredEvent {
  const event = fromJson<StoredEvent>(value);
  const text = (field: unknown) => field === undefined || (typeof field === 'string' && field.length <= 64);
  const fine =
    isJsonObject(value) &&
    typeof event.type === 'string' &&
    /^[a-z][a-z0-9_.]{1,63}$/.test(event.type) &&
    Number.isSafeInteger(event.at) &&
    Math.abs(event.at) <= 8.64e15 &&
    isJsonObject(event.payload) &&
    text(event.key) &&
    text(event.request) &&
    event.ops_blob === undefined;
  if (!fine) throw badBundle('an event is broken');
  if (event.type === 'artifact.created' && !isJsonObject(event.payload.tokens))
    throw badBundle('an event is broken');
  if (event.type !== 'thread.created' && !('ops' in event.payload) && bytesOf(asJson(event)) > 256 * 1024) {
    throw badBundle('an event is too large');
  }
  return event;
}

/**
 * The state that an event of somebody else's leads to, by the rules of a patch that is sent: what it may not do here,
 * it did not do there. Nothing for an event that makes no version, or the first one.
 */
export function foldChecked(head: Head, event: StoredEvent): Sized | undefined {
  if (!VERSION_EVENTS.has(event.type) || event.type === 'thread.created') return undefined;
  const ops = event.type === 'artifact.created' ? linkOps(event) : event.payload.ops;
  try {
    return patchState(head, ops, stampFor(head, event));
  } catch (error) {
    throw isRelayError(error)
      ? badBundle(`event ${head.count + 1} is not possible: ${error.message}`)
      : error;
  }
}

/** Takes an event in by those rules; the head is changed in place. */
export function advanceChecked(head: MutableHead, event: StoredEvent): void {
  if (event.type === 'thread.created' && head.count > 0) throw badBundle('it begins twice');
  try {
    advance(head, head.seq + 1, event, foldChecked(head, event));
  } catch (error) {
    if (error instanceof RelayError && error.code === 'store_damaged')
      throw badBundle('its versions have gaps');
    throw error;
  }
}
