import type { KeyInfo } from '../../../contract/keys.ts';
import { defineCommand } from '../command.ts';
import { TENANT_FLAG } from './key-rows.ts';

export default defineCommand({
  usage: '<id…>',
  details:
    'They stop working with the next request, on every server of the store. The ids are in: relay keys list',
  takes: { min: 1, max: 100 },
  flags: TENANT_FLAG,
  examples: [['relay keys revoke key_1a2b3c4d5e6f7081', 'revoke one']],
  async run({ io, host, flags, args }) {
    await using open = await host.openClient();
    const revoked: KeyInfo[] = [];
    for (const id of args) revoked.push(await open.relay.keys.revoke(id, { tenant: flags.tenant }));
    io.result({ revoked }, () => revoked.map(({ id, name }) => `revoked ${id} (${name})`).join('\n'));
  },
});
