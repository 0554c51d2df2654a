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

/** Returns the shared key of a channel, or undefined if there is none. Throws `bad_key` if it is malformed. */
export async function channelKey(
  keys: ChannelKeys | undefined,
  channel: string,
): Promise<string | undefined> {
  const key = typeof keys === 'function' ? await keys(channel) : ownKey(keys, channel);
  if (key === undefined || key === null || isFernetKey(key)) return key ?? undefined;
  throw new RelayError('bad_key', {
    what: `the key of channel ${JSON.stringify(channel)} must be 32 bytes in URL-safe base64 and not all zeros`,
    hint: 'Ask another member of the channel for the key and run: relay channel key add CHANNEL --force',
  });
}

function ownKey(keys: { readonly [channel: string]: string } | undefined, channel: string) {
  return keys && Object.hasOwn(keys, channel) ? keys[channel] : undefined;
}

/** Encrypts the key of a payload with the key of a channel. */
export function sealKey(channelKey: string, payloadKey: string): Promise<string> {
  return fernetEncrypt(channelKey, new TextEncoder().encode(payloadKey), { now: systemEnv.now() });
}

/** Decrypts the payload key in a message and appends it to the URL. Without the channel's key, returns the message as is. */
export async function unsealMessage(message: Message, channelKey: string | undefined): Promise<Message> {
  const { url, sealed_key } = message;
  if (!url || !sealed_key || !channelKey) return message;
  try {
    const key = new TextDecoder().decode(await fernetDecrypt(channelKey, sealed_key));
    return { ...message, url: `${url}#key=${key}` };
  } catch (error) {
    // The sender used another channel key; a pull will report the missing key. A damaged key of our own is an error.
    if (isRelayError(error, 'decrypt_failed')) return message;
    throw error;
  }
}

/** Returns whether a ContextRelay client encrypted the payload. Payloads encrypted by other tools are not recognized. */
export function isCiphertext({ content_type }: Pick<Inspected, 'content_type'>): boolean {
  return content_type === FERNET_CONTENT_TYPE;
}

/**
 * Matches text that starts with a Fernet token, with or without a line number in front. Tokens start with a version byte
 * and a timestamp, so the first characters are the same for a century.
 */
export const CIPHERTEXT = /^(?:.*\n)?(?:\d+[:-])?gAAAAA/;

/**
 * Checks a key before the pull, so that a wrong key does not use up a pull. Throws if the key is malformed or does not
 * match the sender's key check. Returns the result of the peek; null if the peek found nothing, so the pull reports why.
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

/** Returns whether the server cannot answer a peek. Then the pull goes ahead, and its error is reported. */
function knowsNoPeek(error: unknown): boolean {
  return isRelayError(error) && ([404, 405].includes(error.status) || error.details.final === true);
}

/** Reads a pulled payload and decrypts it if there is a key. Throws `key_missing` for ciphertext without a key. */
export async function decryptPulled(pulled: Pulled, key: string | null): Promise<Uint8Array<ArrayBuffer>> {
  if (key === null && isCiphertext(pulled.about)) throw new RelayError('key_missing');
  const stored = await collect(pulled.body, { bytes: STORED_BYTES, what: 'a payload' });
  return key === null ? stored : fernetDecrypt(key, stored);
}
