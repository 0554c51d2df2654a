import { defineCommand } from '../command.ts';
import { keyRows, TENANT_FLAG } from './key-rows.ts';

export default defineCommand({
  flags: { all: { help: 'also those revoked in the last 30 days' }, ...TENANT_FLAG },
  examples: [
    ['relay keys list', 'the keys that work'],
    ['relay keys list --all --json', 'for a program, the revoked ones too'],
  ],
  async run({ io, host, flags }) {
    await using open = await host.openClient();
    const keys = await open.relay.keys.list({ all: flags.all, tenant: flags.tenant });
    io.result({ keys }, () => keyRows(keys, io, Date.now()));
  },
});
