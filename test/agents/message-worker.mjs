// An agent that sends messages and shows the messages it receives to its model. `many.full.test.ts` starts it and may
// kill it at any time.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

const [relay, model, agent, agents, count, log] = process.argv.slice(2);

async function call(method, url, body, headers = {}) {
  for (;;) {
    const o = { method, headers: { 'Content-Type': 'application/json', 'Relay-Agent': agent, ...headers } };
    const answer = await fetch(url, { ...o, body: JSON.stringify(body) }).catch(() => null);
    if (answer?.ok) return answer.status === 204 ? null : answer.json();
    // Give up if the request itself is wrong. Any other failure means that the relay is restarting or busy, so try
    // again.
    if (answer !== null && answer.status < 500 && answer.status !== 429) throw new Error(await answer.text());
    await new Promise((go) => setTimeout(go, 200));
  }
}

const session = { client: 'test', session: agent, folder: '/work', machine: 'm', reach: 'turn', busy: false };
await call('POST', `${relay}/agents/${agent}/session`, { ...session, inbound: 'all', named: true });
let sent = existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0;
for (;;) {
  if (sent < Number(count)) {
    const others = Array.from({ length: Number(agents) }, (_, index) => `agent-${index}`);
    const to = others.filter((name) => name !== agent)[sent % (Number(agents) - 1)];
    // After a kill, the same message is sent again with the same key.
    const key = { 'Idempotency-Key': `${agent}-${sent}` };
    const { messages } = await call(
      'POST',
      `${relay}/messages`,
      { to, text: `${agent}-${sent}`, queue: true },
      key,
    );
    appendFileSync(log, `${JSON.stringify(messages[0])}\n`);
    sent++;
  }
  const { messages } = await call('POST', `${relay}/agents/${agent}/take`, {});
  if (messages.length > 0) {
    const ids = messages.map(({ id }) => id);
    await call('POST', model, { agent, ids });
    await call('POST', `${relay}/agents/${agent}/messages`, { ids, as: 'shown', route: 'hook' });
  } else if (sent >= Number(count)) await new Promise((go) => setTimeout(go, 500));
}
