import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install } from './installation.ts';
import { must, outsideEnv, serve } from './processes.ts';

const SCRIPT = `
import { AgentBridge, ContextRelay } from 'contextrelay';
const relay = new ContextRelay({ baseUrl: process.argv[2] });
const bridge = await AgentBridge.forExec(relay, { command: 'wc -l' });
const worker = await bridge.start();
console.log(await new AgentBridge(relay).pushAndWait('one'));
await worker.stop();
for (const made of [
  AgentBridge.forTmux(relay, { session: 'nobody-has-this' }),
  AgentBridge.forAcp(relay, { command: 'exit 3' }),
]) {
  await made.then((each) => each.start()).catch(({ code }) => console.log(code));
}
`;

test('the installed SDK contains the runners for Node', async () => {
  using installation = await install();
  const env = outsideEnv({ RELAY_HOME: installation.home });
  await using server = await serve(process.execPath, [installation.relay, 'up', '--port', '0'], { env });
  const script = installation.write('bridge.mjs', SCRIPT);
  const output = await must(process.execPath, [script, server.url], { env });
  assert.match(output, /^\d+\nagent_gone\nagent_gone\n$/);
});
