import { appendFileSync, readFileSync } from 'node:fs';
import { loadConfig } from '../../src/app/config.ts';
import { openRelay } from '../../src/app/store/open-relay.ts';
import { isRelayError } from '../../src/base/errors.ts';
import { pause } from '../../src/base/pause.ts';

/** Claims todos and completes them. Kills itself after some claims. `many.full.test.ts` starts this process. */

const [home = '', agent = '', count = '', log = ''] = process.argv.slice(2);
const todos = Array.from({ length: Number(count) }, (_, index) => `TODO-${index}`);
const note = (line: object) => appendFileSync(log, `${JSON.stringify({ agent, at: Date.now(), ...line })}\n`);
const done = () =>
  new Set(
    readFileSync(log, 'utf8')
      .split('\n')
      .flatMap((line) => (line.includes('"done"') ? [JSON.parse(line).done] : [])),
  );

await using open = await openRelay(loadConfig({}, { home }), { agent });
const relay = await open.client();
for (;;) {
  const finished = done();
  const openTodos = todos.filter((todo) => !finished.has(todo));
  if (openTodos.length === 0) break;
  const todo = openTodos[Math.floor(Math.random() * openTodos.length)]!;
  const dies = Math.random() < 0.05;
  try {
    const { until } = await relay.agents.claim('hono', todo, { ttl: dies ? 1 : 3_600 });
    note({ claimed: todo, until: Date.parse(until) });
  } catch (error) {
    if (!isRelayError(error, 'claimed')) throw error;
    await pause(20);
    continue;
  }
  if (dies) process.kill(process.pid, 'SIGKILL');
  if (!done().has(todo)) note({ done: todo });
  note({ released: todo });
  await relay.agents.release('hono', todo);
}
