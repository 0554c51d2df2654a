/**
 * A worker of a group, as a user would write it. It prints one line per event: `took`, `acked`, `stale`. Run as:
 * worker.ts <channel> <group> <relay URL, or - for the store of RELAY_HOME> <delay every Nth message, 0 for never>.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { loadConfig } from '../../../src/app/config.ts';
import { openRelay } from '../../../src/app/store/open-relay.ts';
import { isRelayError } from '../../../src/base/errors.ts';

const [channel, group, url, dawdles] = process.argv.slice(2) as [string, string, string, string];
const config = loadConfig(process.env, url === '-' ? {} : { url });
await using open = await openRelay(config);
const say = (...parts: unknown[]) => process.stdout.write(`${parts.join(' ')}\n`);

let messageCount = 0;
for await (const message of (await open.client()).subscribe(channel, { group, since: 'all' })) {
  const { n } = message.msg as { n: number };
  say('took', n, message.token);
  await pause(Math.random() * 4);
  // Wait until the lease is over. Another member gets the message, and the acknowledgement below is rejected.
  if (Number(dawdles) > 0 && ++messageCount % Number(dawdles) === 0)
    await pause(message.lease_until! - Date.now() + 700);
  try {
    await message.ack();
    say('acked', n, message.token);
  } catch (error) {
    if (!isRelayError(error, 'conflict')) throw error;
    say('stale', n, message.token);
  }
}
