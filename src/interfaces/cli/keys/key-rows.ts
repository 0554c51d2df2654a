import { SCOPES, type Scope } from '../../../contract/caller.ts';
import type { CreatedKey, KeyInfo } from '../../../contract/keys.ts';
import { badUsage } from '../command.ts';
import { expiry, moment, printable, rows } from '../human.ts';
import type { Io } from '../io.ts';

export const TENANT_FLAG = {
  tenant: { value: 'NAME', help: 'of another tenant; for whoever runs the relay' },
} as const;

export function parseScopes(text: string): Scope[] {
  const words = text.split(',').map((word) => word.trim());
  const unknown = words.find((word) => !SCOPES.includes(word as Scope));
  if (unknown === undefined) return words as Scope[];
  throw badUsage(`There is no scope "${unknown}".`, `The scopes are: ${SCOPES.join(', ')}.`);
}

/** The key alone where a program reads it; at a terminal with what there is to know. */
export function showNewKey(io: Io, key: CreatedKey): void {
  io.result(key, () => {
    if (!io.interactive) return key.key;
    const facts: [string, string][] = [
      ['id', key.id],
      ['name', printable(key.name)],
      ['may', rightsOf(key)],
      ['tenant', `${key.tenant}, plan ${key.plan}`],
    ];
    if (key.expires_at !== null) facts.push(['expires', expiry(key.expires_at, Date.now())]);
    const note = io.style.dim(
      'Keep it now: it is not shown again. Programs take it from CONTEXTRELAY_API_KEY.',
    );
    return [io.style.bold(key.key), rows(io.style.dim, facts), '', note].join('\n');
  });
}

export function keyRows(keys: readonly KeyInfo[], io: Io, now: number): string {
  if (keys.length === 0) return 'no keys yet; make one with: relay keys create <name>';
  return keys
    .map((key) => {
      const used =
        key.last_used_at === null ? 'never used' : `used ${moment(Date.parse(key.last_used_at), now)}`;
      const facts = [rightsOf(key), used];
      if (key.expires_at !== null) facts.push(`expires ${moment(Date.parse(key.expires_at), now)}`);
      if (key.revoked_at !== null)
        facts.push(io.style.red(`revoked ${moment(Date.parse(key.revoked_at), now)}`));
      return `${key.id}  ${io.style.bold(printable(key.name))}\n  ${io.style.dim(facts.join('; '))}`;
    })
    .join('\n');
}

function rightsOf({ scopes, channel_prefix }: KeyInfo): string {
  const limited = channel_prefix === null ? '' : ` (channels ${printable(channel_prefix)}…)`;
  return scopes.join(', ') + limited;
}
