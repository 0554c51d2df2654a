import { EXIT, isRelayError } from '../../../base/errors.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { defineCommand } from '../command.ts';
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
  async run({ io, host, args }) {
    const urls: string[] = [];
    for (const arg of args) urls.push(await pointerArgument(io, arg));
    await using open = await host.openClient();
    const revoked: string[] = [];
    const failures: { id: string; error: string; code: string }[] = [];
    let exit: number = EXIT.ok;
    for (const url of urls) {
      const { id } = parsePointer(url);
      try {
        await open.client.delete(await open.resolve(url));
        revoked.push(id);
        if (!io.json) io.print(`revoked ${id}`);
      } catch (error) {
        // One pointer alone fails as every command does.
        if (!isRelayError(error) || urls.length === 1) throw error;
        exit ||= error.exit;
        failures.push({ id, error: error.message, code: error.code });
        if (!io.json) io.warn(`${id}: ${error.message}`);
      }
    }
    io.result({ revoked, failures }, '');
    return exit;
  },
});
