import type { Env } from '../../base/env.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 40 of 62 characters have 238 bits, too many to guess. */
const CHARS = 40;

const KEY_PREFIX = 'cr_live_';
const SHARE_PREFIX = 'cr_share_';
const KEY = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${CHARS}}$`);
const SHARE = new RegExp(`^${SHARE_PREFIX}[0-9A-Za-z]{${CHARS}}$`);

export const isApiKey = (secret: string) => KEY.test(secret);
export const isShareToken = (secret: string) => SHARE.test(secret);

/** Creates an API key. Only its receiver has it; the relay stores its hash. */
export const newApiKey = (env: Env) => newSecret(env, KEY_PREFIX);
/** Creates the token of a share link, of which only the hash is stored. */
export const newShareToken = (env: Env) => newSecret(env, SHARE_PREFIX);

function newSecret(env: Env, prefix: string): string {
  let text = prefix;
  while (text.length < prefix.length + CHARS) {
    for (const byte of env.randomBytes(CHARS)) {
      // Bytes from 248, the largest multiple of 62 below 256, would favour some characters.
      if (byte < 248 && text.length < prefix.length + CHARS) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}
