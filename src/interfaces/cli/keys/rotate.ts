import { answerCommand } from '../command.ts';
import { parseSpan } from '../human.ts';
import { newKeyText, TENANT_FLAG } from './key-rows.ts';

export default answerCommand({
  usage: '<id>',
  flags: {
    grace: { value: 'TIME', help: 'let the old one work for this much longer (not at all)' },
    ...TENANT_FLAG,
  },
  examples: [
    ['relay keys rotate key_1a2b3c4d5e6f7081', 'the old one stops working at once'],
    ['relay keys rotate key_1a2b3c4d5e6f7081 --grace 24h', 'programs have a day to take up the new one'],
  ],
  async ask({ flags, args, open }) {
    const grace = parseSpan(flags.grace, '--grace');
    return (await open()).relay.keys.rotate(args[0]!, { grace, tenant: flags.tenant });
  },
  print: newKeyText,
});
