import { loadConfig } from '../../../src/app/config.ts';
import { openCore } from '../../../src/app/store/open-core.ts';
import { LOCAL_CALLER } from '../../../src/contract/caller.ts';

/**
 * Patches a thread on the local store, as a command would, and prints the version that each patch made. With `stay`,
 * the process does not end.
 */

const { home, thread, name, count, stay } = JSON.parse(process.argv[2]!) as {
  home: string;
  thread: string;
  name: string;
  count: number;
  stay?: boolean;
};

const opened = await openCore(loadConfig({ RELAY_HOME: home }), 'cli');
const { threads } = opened.core.relay({ ...LOCAL_CALLER, name }, 'http://relay.invalid');
for (let i = 0; i < count; i++) {
  const value = { id: `${name}-${i}`, key: name, value: i };
  const { version } = await threads.patch(thread, { ops: [{ op: 'add', path: '/facts/-', value }] });
  process.stdout.write(`${version}\n`);
}
if (stay) await new Promise(() => setInterval(() => {}, 1000));
await opened[Symbol.asyncDispose]();
