import type { Env } from '../../base/env.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/**
 * Number of random characters in a secret. 40 random characters out of 62 have 238 bits, too many to guess.
 */
const CHARS = 40;

const KEY_PREFIX = 'cr_live_';
const SHARE_PREFIX = 'cr_share_';
const ANSWER_PREFIX = 'cr_answer_';
const KEY = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${CHARS}}$`);
const SHARE = new RegExp(`^${SHARE_PREFIX}[0-9A-Za-z]{${CHARS}}$`);

export const isApiKey = (secret: string) => KEY.test(secret);
export const isShareToken = (secret: string) => SHARE.test(secret);

/** Creates an API key. The relay stores only its hash, so it cannot show the key again. */
export const newApiKey = (env: Env) => newSecret(env, KEY_PREFIX);
/** Creates the token of a share link. The relay stores only its hash. */
export const newShareToken = (env: Env) => newSecret(env, SHARE_PREFIX);

/** Creates the token of a link that answers a question. The relay stores only its hash. */
export const newAnswerToken = (env: Env) => newSecret(env, ANSWER_PREFIX);

function newSecret(env: Env, prefix: string): string {
  let text = prefix;
  while (text.length < prefix.length + CHARS) {
    for (const byte of env.randomBytes(CHARS)) {
      // Skip bytes from 248 on. 248 is the largest multiple of 62 below 256, so larger bytes would make some
      // characters more likely than others.
      if (byte < 248 && text.length < prefix.length + CHARS) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}
