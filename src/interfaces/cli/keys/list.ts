import { answerCommand } from '../command.ts';
import { keyRows, TENANT_FLAG } from './key-rows.ts';

export default answerCommand({
  flags: { all: { help: 'also those revoked in the last 30 days' }, ...TENANT_FLAG },
  examples: [
    ['relay keys list', 'the keys that work'],
    ['relay keys list --all --json', 'for a program, the revoked ones too'],
  ],
  async ask({ flags, open }) {
    const { relay } = await open();
    return { keys: await relay.keys.list({ all: flags.all, tenant: flags.tenant }) };
  },
  print: ({ keys }, io) => keyRows(keys, io),
});
