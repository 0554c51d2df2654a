import { systemEnv } from '../base/env.ts';
import { isRelayError, RelayError } from '../base/errors.ts';
import { STORED_BYTES } from '../base/limits.ts';
import type { Message } from '../contract/channels.ts';
import type { Inspected, Pulled } from '../contract/pointers.ts';
import {
  FERNET_CONTENT_TYPE,
  fernetDecrypt,
  fernetEncrypt,
  fernetKeyCheck,
  isFernetKey,
} from '../formats/fernet.ts';
import type { ChannelKeys } from './options.ts';
import { collect } from './payload.ts';

export async function channelKey(
  keys: ChannelKeys | undefined,
  channel: string,
): Promise<string | undefined> {
  const given = typeof keys === 'function' ? await keys(channel) : ownKey(keys, channel);
  if (given === undefined || given === null || isFernetKey(given)) return given ?? undefined;
  throw new RelayError('bad_key', {
    what: `that of the channel ${JSON.stringify(channel)}, which must be 32 bytes in URL-safe base64 and not all zeros`,
    hint: 'Take the right one from whoever shares it: relay channel key add CHANNEL --force',
  });
}

function ownKey(keys: { readonly [channel: string]: string } | undefined, channel: string) {
  return keys && Object.hasOwn(keys, channel) ? keys[channel] : undefined;
}

/** The key of a payload, readable only for who has the channel's key. */
export function sealKey(channelKey: string, payloadKey: string): Promise<string> {
  return fernetEncrypt(channelKey, new TextEncoder().encode(payloadKey), { now: systemEnv.now() });
}

/** The message with the payload's key behind its URL, where we share the channel's key; else as it is. */
export async function unsealed(message: Message, channelKey: string | undefined): Promise<Message> {
  const { url, sealed_key } = message;
  if (!url || !sealed_key || !channelKey) return message;
  try {
    const key = new TextDecoder().decode(await fernetDecrypt(channelKey, sealed_key));
    return { ...message, url: `${url}#key=${key}` };
  } catch (error) {
    // Sealed with another key than ours: a pull says what is missing. A key of ours that is damaged is ours to hear of.
    if (isRelayError(error, 'decrypt_failed')) return message;
    throw error;
  }
}

/** Whether it was encrypted by a client of ours; what others encrypted looks like any text. */
export function isCiphertext({ content_type }: Pick<Inspected, 'content_type'>): boolean {
  return content_type === FERNET_CONTENT_TYPE;
}

/** How every Fernet token of this century begins, with a line number in front or not. */
export const CIPHERTEXT = /^(?:.*\n)?(?:\d+[:-])?gAAAAA/;

/**
 * Before anything counts as a pull: refuses what cannot be a key, and one that is not the key whose check the sender left.
 * Gives what the peek told; null where nothing is known of the pointer, so that the pull says why.
 */
export async function checkKey(key: string, peek: () => Promise<Inspected>): Promise<Inspected | null> {
  const check = await fernetKeyCheck(key);
  const found = await peek().catch((error) => {
    if (knowsNoPeek(error)) return null;
    throw error;
  });
  if (found?.key_check !== undefined && found.key_check !== check) throw new RelayError('decrypt_failed');
  return found;
}

/** Whatever is there, a peek is nothing to ask of it: what it says to a pull is its answer. */
function knowsNoPeek(error: unknown): boolean {
  return isRelayError(error) && ([404, 405].includes(error.status) || error.details.final === true);
}

/** The payload as it was before it was encrypted, where it was. */
export async function opened(pulled: Pulled, key: string | null): Promise<Uint8Array<ArrayBuffer>> {
  if (key === null && isCiphertext(pulled.about)) throw new RelayError('key_missing');
  const stored = await collect(pulled.body, { bytes: STORED_BYTES, what: 'a payload' });
  return key === null ? stored : fernetDecrypt(key, stored);
}
