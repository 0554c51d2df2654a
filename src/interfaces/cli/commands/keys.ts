import { SCOPES, type Scope } from '../../../contract/caller.ts';
import type { CreatedKey, KeyInfo, NewKey, RevokedKey } from '../../../contract/keys.ts';
import { answerCommand, badUsage } from '../command.ts';
import { expiry, moment, parseSpan, plural, printable, type Row, rows } from '../human.ts';
import type { Io } from '../io.ts';

export const TENANT_FLAG = {
  tenant: { value: 'NAME', help: 'of another tenant; for whoever runs the relay' },
} as const;

function parseScopes(text: string): Scope[] {
  const words = text.split(',').map((word) => word.trim());
  const unknown = words.find((word) => !SCOPES.includes(word as Scope));
  if (unknown === undefined) return words as Scope[];
  throw badUsage(`There is no scope "${unknown}".`, `The scopes are: ${SCOPES.join(', ')}.`);
}

/** The key alone where a program reads it; at a terminal with what there is to know. */
function newKeyText(key: CreatedKey, { interactive, style }: Io): string {
  if (!interactive) return key.key;
  const facts: Row[] = [
    ['id', key.id],
    ['name', printable(key.name)],
    ['may', rightsOf(key)],
    ['tenant', `${key.tenant}, plan ${key.plan}`],
    ['expires', key.expires_at && expiry(key.expires_at)],
  ];
  const note = style.dim('Keep it now: it is not shown again. Programs take it from CONTEXTRELAY_API_KEY.');
  return [style.bold(key.key), rows(style.dim, facts), '', note].join('\n');
}

function rightsOf({ scopes, channel_prefix }: KeyInfo): string {
  const limited = channel_prefix === null ? '' : ` (channels ${printable(channel_prefix)}…)`;
  return scopes.join(', ') + limited;
}

const create = answerCommand({
  usage: '<name>',
  details: `The name is what others see as the sender. A key may push, pull, subscribe, and work with threads and tasks,
unless --scopes says otherwise. Only its hash is stored: whoever loses it makes another.`,
  flags: {
    scopes: { value: 'LIST', help: 'of push, pull, subscribe, threads, tasks, admin' },
    'channel-prefix': { value: 'TEXT', help: 'only channels that begin with this' },
    expires: { value: 'TIME', help: 'stop working after 30d, 12h, …' },
    plan: { value: 'NAME', help: 'put the tenant on this plan: free, pro, team, …' },
    ...TENANT_FLAG,
  },
  examples: `
    relay keys create laptop  # a key that can do everything but manage keys
    relay keys create ci --scopes push --channel-prefix builds. --expires 90d  # one that can do little
    relay keys create ops --tenant acme --plan pro --scopes admin,push,pull  # the first key of another tenant`,
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
  flags: { all: { help: 'also those revoked in the last 30 days' }, ...TENANT_FLAG },
  examples: `
    relay keys list  # the keys that work
    relay keys list --all --json  # for a program, the revoked ones too`,
  async ask({ flags, open }) {
    const { relay } = await open();
    return { keys: await relay.keys.list({ all: flags.all, tenant: flags.tenant }) };
  },
  print({ keys }, { style, typed }) {
    const lines = keys.map((key) => {
      const used = key.last_used_at === null ? 'never used' : `used ${moment(key.last_used_at)}`;
      const expires = key.expires_at && `expires ${moment(key.expires_at)}`;
      const revoked = key.revoked_at && style.red(`revoked ${moment(key.revoked_at)}`);
      const facts = [rightsOf(key), used, expires, revoked].filter(Boolean);
      return `${key.id}  ${style.bold(printable(key.name))}\n  ${style.dim(facts.join('; '))}`;
    });
    return lines.join('\n') || typed('no keys yet; make one with: relay keys create <name>');
  },
});

const revoke = answerCommand({
  usage: '<id…>',
  details:
    'They stop working with the next request, on every server of the store, and so do the share links they made. The ids are in: relay keys list',
  takes: { min: 1, max: 100 },
  flags: TENANT_FLAG,
  examples: 'relay keys revoke key_1a2b3c4d5e6f7081  # revoke one',
  async ask({ flags, args, open }) {
    const { keys } = (await open()).relay;
    const revoked: RevokedKey[] = [];
    for (const id of args) revoked.push(await keys.revoke(id, { tenant: flags.tenant }));
    return { revoked };
  },
  print: ({ revoked }) =>
    revoked
      .map(({ id, name, shares_ended: ended = 0 }) => {
        const links = ended > 0 ? `, and ${plural(ended, 'share link')} that it made` : '';
        return `revoked ${id} (${name})${links}`;
      })
      .join('\n'),
});

const rotate = answerCommand({
  usage: '<id>',
  flags: {
    grace: { value: 'TIME', help: 'let the old one work for this much longer (not at all)' },
    ...TENANT_FLAG,
  },
  examples: `
    relay keys rotate key_1a2b3c4d5e6f7081  # the old one stops working at once
    relay keys rotate key_1a2b3c4d5e6f7081 --grace 24h  # programs have a day to take up the new one`,
  async ask({ flags, args, open }) {
    const grace = parseSpan(flags.grace, '--grace');
    return (await open()).relay.keys.rotate(args[0]!, { grace, tenant: flags.tenant });
  },
  print: newKeyText,
});

export const commands = { create, list, revoke, rotate };
