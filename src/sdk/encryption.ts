import { systemEnv } from '../base/env.ts';
import { isRelayError, RelayError } from '../base/errors.ts';
import { STORED_BYTES } from '../base/limits.ts';
import type { Message } from '../contract/channels.ts';
import { withKey } from '../contract/pointer-url.ts';
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

/**
 * Returns the shared encryption key of a channel. Returns undefined if this client has none. Throws `bad_key` if the
 * key is malformed.
 */
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

/** Encrypts a payload key (the encryption key of one payload) with the encryption key of a channel. */
export function sealKey(channelKey: string, payloadKey: string): Promise<string> {
  return fernetEncrypt(channelKey, new TextEncoder().encode(payloadKey), { now: systemEnv.now() });
}

/**
 * Decrypts the payload key in a message and appends it to the URL of the message. Without the key of the
 * channel, returns the message unchanged.
 */
export async function unsealMessage(message: Message, channelKey: string | undefined): Promise<Message> {
  const { url, sealed_key } = message;
  if (!url || !sealed_key || !channelKey) return message;
  try {
    const key = new TextDecoder().decode(await fernetDecrypt(channelKey, sealed_key));
    return { ...message, url: withKey(url, key) };
  } catch (error) {
    // The sender used another channel key, so return the message without the payload key. A later pull then
    // reports `key_missing`. Any other error means that our own channel key is malformed.
    if (isRelayError(error, 'decrypt_failed')) return message;
    throw error;
  }
}

/**
 * Returns whether the payload was encrypted by a ContextRelay client. Encryption by other tools is not
 * recognized.
 */
export function isCiphertext({ content_type }: Pick<Inspected, 'content_type'>): boolean {
  return content_type === FERNET_CONTENT_TYPE;
}

/**
 * Matches text that starts with a Fernet token, possibly after one other line or a line number. A Fernet
 * token starts with a version byte and a timestamp, so for centuries all tokens start with the same
 * characters.
 */
export const CIPHERTEXT = /^(?:.*\n)?(?:\d+[:-])?gAAAAA/;

/**
 * Checks an encryption key with a peek before the pull, so that a wrong key does not use up a pull. Throws if the key
 * is malformed, or if it does not match the key check of the sender. Returns the result of the peek. If the server
 * supports no peeks, returns null, and only the pull can report a wrong key.
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

/** Returns whether the error means that the server does not support peeks. */
function knowsNoPeek(error: unknown): boolean {
  return isRelayError(error) && ([404, 405].includes(error.status) || error.details.final === true);
}

/**
 * Reads a pulled payload. With `key`, decrypts it. Without `key`, throws `key_missing` if the payload is
 * encrypted.
 */
export async function decryptPulled(pulled: Pulled, key: string | null): Promise<Uint8Array<ArrayBuffer>> {
  if (key === null && isCiphertext(pulled.about)) throw new RelayError('key_missing');
  const stored = await collect(pulled.body, { bytes: STORED_BYTES, what: 'a payload' });
  return key === null ? stored : fernetDecrypt(key, stored);
}
