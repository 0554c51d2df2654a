import { parsePointer } from '../../../contract/pointer-url.ts';
import { defineCommand } from '../command.ts';
import { removeEach } from '../remove-each.ts';
import { pointerArgument } from './pointer-argument.ts';

export default defineCommand({
  usage: '<url…>',
  details:
    'The payload is deleted and the pointer answers like one that never existed. Only its owner can do that.',
  takes: { min: 1, max: 1000 },
  examples: [
    ['relay rm http://127.0.0.1:7474/pull/<uuid>', 'revoke one'],
    ['relay rm <url> <url>', 'several; those that are gone already are named, the others are revoked'],
  ],
  async run({ io, args, open }) {
    const urls: string[] = [];
    for (const arg of args) urls.push(await pointerArgument(io, arg));
    const opened = await open();
    const { resolve } = opened;
    const client = await opened.client();
    const ids = urls.map((url) => parsePointer(url).id);
    return removeEach(io, 'revoked', ids, async (_, i) => client.delete(await resolve(urls[i]!)));
  },
});
