import { systemEnv } from '../base/env.ts';
import { isRelayError, RelayError } from '../base/errors.ts';
import type { Message } from '../contract/channels.ts';
import { fernetDecrypt, fernetEncrypt, isFernetKey } from '../formats/fernet.ts';

/** Keys that sender and subscribers of a channel share, by channel. They never leave this side. */
export type ChannelKeys =
  | { readonly [channel: string]: string }
  | ((channel: string) => string | undefined | Promise<string | undefined>);

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
