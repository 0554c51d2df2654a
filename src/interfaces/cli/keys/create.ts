import type { NewKey } from '../../../contract/keys.ts';
import { answerCommand } from '../command.ts';
import { parseSpan } from '../human.ts';
import { newKeyText, parseScopes, TENANT_FLAG } from './key-rows.ts';

export default answerCommand({
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
  examples: [
    ['relay keys create laptop', 'a key that can do everything but manage keys'],
    ['relay keys create ci --scopes push --channel-prefix builds. --expires 90d', 'one that can do little'],
    [
      'relay keys create ops --tenant acme --plan pro --scopes admin,push,pull',
      'the first key of another tenant',
    ],
  ],
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
