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
export function newKeyText(key: CreatedKey, { interactive, style }: Io): string {
  if (!interactive) return key.key;
  const facts: [string, string][] = [
    ['id', key.id],
    ['name', printable(key.name)],
    ['may', rightsOf(key)],
    ['tenant', `${key.tenant}, plan ${key.plan}`],
  ];
  if (key.expires_at !== null) facts.push(['expires', expiry(key.expires_at)]);
  const note = style.dim('Keep it now: it is not shown again. Programs take it from CONTEXTRELAY_API_KEY.');
  return [style.bold(key.key), rows(style.dim, facts), '', note].join('\n');
}

export function keyRows(keys: readonly KeyInfo[], { style, typed }: Io): string {
  if (keys.length === 0) return typed('no keys yet; make one with: relay keys create <name>');
  return keys
    .map((key) => {
      const used = key.last_used_at === null ? 'never used' : `used ${moment(key.last_used_at)}`;
      const facts = [rightsOf(key), used];
      if (key.expires_at !== null) facts.push(`expires ${moment(key.expires_at)}`);
      if (key.revoked_at !== null) facts.push(style.red(`revoked ${moment(key.revoked_at)}`));
      return `${key.id}  ${style.bold(printable(key.name))}\n  ${style.dim(facts.join('; '))}`;
    })
    .join('\n');
}

function rightsOf({ scopes, channel_prefix }: KeyInfo): string {
  const limited = channel_prefix === null ? '' : ` (channels ${printable(channel_prefix)}…)`;
  return scopes.join(', ') + limited;
}
