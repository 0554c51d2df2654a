import { badRequest, RelayError } from '../../base/errors.ts';
import { AGENT_NAME_CHARS, CHANNEL_NAME_CHARS, KEY_TTL_MAX_MS } from '../../base/limits.ts';
import { type Caller, SCOPES, type Scope } from '../../contract/caller.ts';

/** It is shown to others, in terminals and prompts too. */
export function checkKeyName(name: unknown): string {
  const fine =
    typeof name === 'string' &&
    name.trim() !== '' &&
    name.isWellFormed() &&
    [...name].length <= AGENT_NAME_CHARS &&
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name);
  if (fine) return name;
  throw badRequest(`A key's name has 1 to ${AGENT_NAME_CHARS} characters that can be seen.`);
}

export function checkScopes(scopes: unknown): Scope[] {
  if (scopes === undefined || scopes === null) return SCOPES.filter((scope) => scope !== 'admin');
  const known = Array.isArray(scopes) && scopes.length > 0 && scopes.every((scope) => SCOPES.includes(scope));
  if (known) return SCOPES.filter((scope) => scopes.includes(scope));
  throw badRequest(`Scopes are one or more of: ${SCOPES.join(', ')}.`);
}

export function checkPrefix(prefix: unknown): string | null {
  if (prefix === undefined || prefix === null || prefix === '') return null;
  const fine = typeof prefix === 'string' && prefix.isWellFormed() && !prefix.includes('\0');
  if (fine && [...prefix].length <= CHANNEL_NAME_CHARS) return prefix;
  throw badRequest(`A channel prefix is a text of at most ${CHANNEL_NAME_CHARS} characters.`);
}

/** An admin key that is bound to a prefix gives nobody a key that reaches beyond it. */
export function checkWithinPrefix({ name, channelPrefix }: Caller, prefix: string | null): void {
  if (channelPrefix === undefined || prefix?.startsWith(channelPrefix)) return;
  throw new RelayError('forbidden', {
    what: `The key "${name}" can only make keys whose channel prefix begins with "${channelPrefix}".`,
    hint: `Name one, such as "${channelPrefix}", or use an admin key without a prefix.`,
  });
}

/** Seconds from now, as a moment in ms; null for never. */
export function checkExpiry(seconds: unknown, now: number): number | null {
  if (seconds === undefined || seconds === null) return null;
  if (typeof seconds === 'number' && seconds >= 1 && seconds * 1000 <= KEY_TTL_MAX_MS) {
    return now + Math.round(seconds * 1000);
  }
  throw badRequest(`A key lives from 1 to ${KEY_TTL_MAX_MS / 1000} seconds, or until it is revoked.`);
}
