import { SCOPES, type Scope } from '../../../contract/caller.ts';
import type { CreatedKey, KeyInfo, NewKey, RevokedKey } from '../../../contract/keys.ts';
import { answerCommand, badUsage } from '../command.ts';
import { expiry, moment, parseSpan, plural, printable, type Row, rows } from '../human.ts';
import type { Io } from '../io.ts';

/** The --tenant flag, with which the operator runs a command for another tenant. */
export const TENANT_FLAG = {
  tenant: { value: 'NAME', help: 'use another tenant; only for the operator of the relay' },
} as const;

function parseScopes(text: string): Scope[] {
  const scopes = text.split(',').map((word) => word.trim());
  const unknown = scopes.find((word) => !SCOPES.includes(word as Scope));
  if (unknown === undefined) return scopes as Scope[];
  throw badUsage(`There is no scope "${unknown}".`, `Scopes: ${SCOPES.join(', ')}.`);
}

/** Formats a new API key. A pipe gets only the key, a terminal also its details. */
function newKeyText(key: CreatedKey, { interactive, style }: Io): string {
  if (!interactive) return key.key;
  const facts: Row[] = [
    ['id', key.id],
    ['name', printable(key.name)],
    ['scopes', scopesText(key)],
    ['tenant', `${key.tenant}, plan ${key.plan}`],
    ['expires', key.expires_at && expiry(key.expires_at)],
  ];
  const note = style.dim(
    'Save the key now: it is not shown again. Clients read it from CONTEXTRELAY_API_KEY.',
  );
  return [style.bold(key.key), rows(style.dim, facts), '', note].join('\n');
}

function scopesText({ scopes, channel_prefix }: KeyInfo): string {
  const limited = channel_prefix === null ? '' : ` (channels ${printable(channel_prefix)}…)`;
  return scopes.join(', ') + limited;
}

const create = answerCommand({
  usage: '<name>',
  details: `Others see the name as the sender. By default the key has all scopes except answer and admin. The relay stores only the hash of
the key, so a lost key cannot be shown again.`,
  flags: {
    scopes: { value: 'LIST', help: `any of ${SCOPES.join(', ')}` },
    'channel-prefix': { value: 'TEXT', help: 'allow only channels that start with this text' },
    expires: { value: 'TIME', help: 'expire after 30d, 12h, …' },
    plan: {
      value: 'NAME',
      help: 'also change the plan of the whole tenant: free, pro, team, …; only for the operator of the relay',
    },
    ...TENANT_FLAG,
  },
  examples: `
    relay keys create laptop  # create a key with all scopes except answer and admin
    relay keys create ci --scopes push --channel-prefix builds. --expires 90d  # create a restricted key
    relay keys create ops --tenant acme --plan pro --scopes admin,push,pull  # create the first key of a tenant`,
  async ask({ flags, args, open }) {
    const input: NewKey = {
      name: args[0]!,
      scopes: flags.scopes === undefined ? undefined : parseScopes(flags.scopes),
      channel_prefix: flags['channel-prefix'],
      expires_in: parseSpan(flags.expires, '--expires'),
      tenant: flags.tenant,
      plan: flags.plan,
    };
    return (await open()).relay.keys.create(input);
  },
  print: newKeyText,
});

const list = answerCommand({
  flags: { all: { help: 'include keys revoked in the last 30 days' }, ...TENANT_FLAG },
  examples: `
    relay keys list  # list valid keys
    relay keys list --all --json  # include revoked keys, as JSON`,
  async ask({ flags, open }) {
    const { relay } = await open();
    return { keys: await relay.keys.list({ all: flags.all, tenant: flags.tenant }) };
  },
  print({ keys }, { style, typed }) {
    const lines = keys.map((key) => {
      const used = key.last_used_at === null ? 'never used' : `used ${moment(key.last_used_at)}`;
      const expires = key.expires_at && `expires ${moment(key.expires_at)}`;
      const revoked = key.revoked_at && style.red(`revoked ${moment(key.revoked_at)}`);
      const facts = [scopesText(key), used, expires, revoked].filter(Boolean);
      return `${key.id}  ${style.bold(printable(key.name))}\n  ${style.dim(facts.join('; '))}`;
    });
    return lines.join('\n') || typed('no keys yet; create one with: relay keys create <name>');
  },
});

const revoke = answerCommand({
  usage: '<id…>',
  details:
    'The keys, and the share links created with them in the dashboard, stop working at the next request, on every server of the store. relay keys list shows the ids.',
  takes: { min: 1, max: 100 },
  flags: TENANT_FLAG,
  examples: 'relay keys revoke key_1a2b3c4d5e6f7081  # revoke one key',
  async ask({ flags, args, open }) {
    const { keys } = (await open()).relay;
    const revoked: RevokedKey[] = [];
    for (const id of args) revoked.push(await keys.revoke(id, { tenant: flags.tenant }));
    return { revoked };
  },
  print: ({ revoked }) =>
    revoked
      .map(({ id, name, shares_ended: ended = 0 }) => {
        const links = ended > 0 ? `, and ${plural(ended, 'share link')} that it created` : '';
        return `revoked ${id} (${name})${links}`;
      })
      .join('\n'),
});

const rotate = answerCommand({
  usage: '<id>',
  flags: {
    grace: { value: 'TIME', help: 'keep the old key valid for this time (0s)' },
    ...TENANT_FLAG,
  },
  examples: `
    relay keys rotate key_1a2b3c4d5e6f7081  # replace the key; the old one stops working at once
    relay keys rotate key_1a2b3c4d5e6f7081 --grace 24h  # keep the old key valid for a day`,
  async ask({ flags, args, open }) {
    const grace = parseSpan(flags.grace, '--grace');
    return (await open()).relay.keys.rotate(args[0]!, { grace, tenant: flags.tenant });
  },
  print: newKeyText,
});

export const commands = { create, list, revoke, rotate };
