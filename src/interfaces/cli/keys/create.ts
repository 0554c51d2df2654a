import type { NewKey } from '../../../contract/keys.ts';
import { defineCommand } from '../command.ts';
import { parseSpan } from '../human.ts';
import { parseScopes, showNewKey, TENANT_FLAG } from './key-rows.ts';

export default defineCommand({
  usage: '<name>',
  details: `The name is what others see as the sender. A key may push, pull, subscribe, and work with threads and tasks,
unless --scopes says otherwise. Only its hash is stored: whoever loses it makes another.`,
  takes: { min: 1, max: 1 },
  flags: {
    scopes: { value: 'LIST', help: 'of push, pull, subscribe, threads, tasks, admin' },
    'channel-prefix': { value: 'TEXT', help: 'only channels that begin with this' },
    expires: { value: 'TIME', help: 'stop working after 30d, 12h, …' },
    plan: { value: 'NAME', help: 'put the tenant on this plan: free, pro, team, …' },
    ...TENANT_FLAG,
  },
  examples: [
    ['relay keys create laptop', 'a key that can do everything but manage keys'],
    ['relay keys create ci --scopes push --channel-prefix builds. --expires 90d', 'one that can do little'],
    [
      'relay keys create ops --tenant acme --plan pro --scopes admin,push,pull',
      'the first key of another tenant',
    ],
  ],
  async run({ io, host, flags, args }) {
    const input: NewKey = {
      name: args[0]!,
      ...(flags.scopes === undefined ? {} : { scopes: parseScopes(flags.scopes) }),
      ...(flags['channel-prefix'] === undefined ? {} : { channel_prefix: flags['channel-prefix'] }),
      ...(flags.expires === undefined ? {} : { expires_in: parseSpan(flags.expires, '--expires') }),
      ...(flags.tenant === undefined ? {} : { tenant: flags.tenant }),
      ...(flags.plan === undefined ? {} : { plan: flags.plan }),
    };
    await using open = await host.openClient();
    showNewKey(io, await open.relay.keys.create(input));
  },
});
