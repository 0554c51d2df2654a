/**
 * npm run chaos [-- --minutes N]: runs two servers on three NATS nodes under load and injects failures for N minutes.
 * Prints how many writes were acknowledged, found and duplicated, and the longest wait. Exits with 1 if writes are
 * missing or duplicated.
 */
import { parseArgs } from 'node:util';
import { runChaos } from './chaos.ts';
import { findNatsServer } from './cluster.ts';

const HELP = `npm run chaos [-- --minutes N]

Starts three NATS nodes and two relays on this machine, writes without a pause, and kills, freezes, cuts off and
replaces nodes and relays for N minutes (20). RELAY_CHAOS_SEED decides the order. Cutting off needs root.`;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, help: { type: 'boolean', short: 'h' } },
});
const minutes = Number(values.minutes);
const natsServer = await findNatsServer();
if (values.help) console.log(HELP);
else if (!(minutes > 0)) fail(`--minutes takes a number above 0, not ${values.minutes}.`);
else if ('missing' in natsServer) fail(natsServer.missing);
else {
  const began = performance.now();
  const say = (line: string) =>
    console.log(`${String(Math.round((performance.now() - began) / 1000)).padStart(5)} s  ${line}`);
  const result = await runChaos({ blows: Number.MAX_SAFE_INTEGER, forMs: minutes * 60_000, say });
  const { acknowledged, found, doubled, longestMs, raw } = result;
  console.log(`
acknowledged  ${acknowledged}
found         ${found}
doubled       ${doubled}
longest wait  ${(longestMs / 1000).toFixed(1)} s without an acknowledged push
plain client  ${raw.acknowledged} acknowledged, ${raw.lost} lost by NATS itself`);
  if (doubled > 0 || found < acknowledged) process.exitCode = 1;
}

function fail(why: string): void {
  console.error(why);
  process.exitCode = 2;
}
