import type { RevokedKey } from '../../../contract/keys.ts';
import { answerCommand } from '../command.ts';
import { plural } from '../human.ts';
import { TENANT_FLAG } from './key-rows.ts';

export default answerCommand({
  usage: '<id…>',
  details:
    'They stop working with the next request, on every server of the store, and so do the share links they made. The ids are in: relay keys list',
  takes: { min: 1, max: 100 },
  flags: TENANT_FLAG,
  examples: [['relay keys revoke key_1a2b3c4d5e6f7081', 'revoke one']],
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
