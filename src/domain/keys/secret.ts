import type { Env } from '../../base/env.ts';

const PREFIX = 'cr_live_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 40 of 62 characters are 238 bits: nobody finds one by trying. */
const CHARS = 40;
const SECRET = new RegExp(`^${PREFIX}[0-9A-Za-z]{${CHARS}}$`);

/** A new API key. Whoever gets it is the only one to have it: the relay keeps its hash. */
export function newSecret(env: Env): string {
  let text = PREFIX;
  while (text.length < PREFIX.length + CHARS) {
    for (const byte of env.randomBytes(CHARS)) {
      // The largest multiple of 62 below 256: what is above would favour some characters.
      if (byte < 248 && text.length < PREFIX.length + CHARS) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}

export function isSecret(text: string): boolean {
  return SECRET.test(text);
}
