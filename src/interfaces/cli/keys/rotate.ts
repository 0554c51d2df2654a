import { defineCommand } from '../command.ts';
import { parseSpan } from '../human.ts';
import { showNewKey, TENANT_FLAG } from './key-rows.ts';

export default defineCommand({
  usage: '<id>',
  takes: { min: 1, max: 1 },
  flags: {
    grace: { value: 'TIME', help: 'let the old one work for this much longer (not at all)' },
    ...TENANT_FLAG,
  },
  examples: [
    ['relay keys rotate key_1a2b3c4d5e6f7081', 'the old one stops working at once'],
    ['relay keys rotate key_1a2b3c4d5e6f7081 --grace 24h', 'programs have a day to take up the new one'],
  ],
  async run({ io, host, flags, args }) {
    const grace = parseSpan(flags.grace, '--grace');
    await using open = await host.openClient();
    showNewKey(io, await open.relay.keys.rotate(args[0]!, { grace, tenant: flags.tenant }));
  },
});
