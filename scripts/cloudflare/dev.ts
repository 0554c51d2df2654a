import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { portNumber, readFlag, text } from '../../src/app/option-readers.ts';
import { nextFreePort, tryPort } from '../../src/app/serve/port-owner.ts';
import { buildDashboard } from '../build/dashboard.ts';
import { LOOPBACK, startWorker } from './local-worker.ts';
import { runScript } from './run-script.ts';

const HELP = `Serves the relay as a Worker, in workerd, for programs on this machine.

Usage  npm run dev:cloudflare -- [options]

  --port N    listen on this port of ${LOOPBACK} (8787); 0 takes a free one
  --keys      ask for keys; RELAY_ADMIN_KEY makes the first, or one that is drawn and printed
  --home DIR  keep there what is stored, which is gone at the end otherwise

Examples
  npm run dev:cloudflare
  npm run dev:cloudflare -- --port 9000 --home /tmp/worker
  npm run dev:cloudflare -- --keys`;

/** As wrangler.toml says. */
const CRON_MS = 60_000;

await runScript(HELP, async () => {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8787' },
      keys: { type: 'boolean' },
      home: { type: 'string' },
    },
  });
  const port = readFlag('--port', portNumber, values.port);
  const home = values.home === undefined ? undefined : readFlag('--home', text, values.home);
  if (home) mkdirSync(home, { recursive: true });
  await checkPort(port);

  // A folder of its own: a deployment or another of these builds its pages anew meanwhile.
  const pages = mkdtempSync(join(tmpdir(), 'relay-pages-'));
  process.once('exit', () => rmSync(pages, { recursive: true, force: true }));
  let worker: Awaited<ReturnType<typeof startWorker>> | null = null;
  let stopping = false;
  // At a terminal a signal comes twice: from there, and from npm.
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    await worker?.stop();
    process.exit();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);

  console.error('building the Worker and its pages, which takes some seconds …');
  await buildDashboard(pages);
  const given = process.env.RELAY_ADMIN_KEY;
  const adminKey = given || randomBytes(24).toString('base64url');
  worker = await startWorker({ port, open: !values.keys, adminKey, home, pages, cronMs: CRON_MS });
  console.log(`listening on ${worker.url}, its pages at ${worker.url}/ui`);
  if (values.keys) {
    const shown = given ? '"$RELAY_ADMIN_KEY"' : adminKey;
    console.log(
      `its admin key is ${given ? 'RELAY_ADMIN_KEY' : adminKey}; this makes the first key with it:`,
    );
    console.log(`  CONTEXTRELAY_URL=${worker.url} CONTEXTRELAY_API_KEY=${shown} ./relay keys create alice`);
  }
});

async function checkPort(port: number): Promise<void> {
  const state = port === 0 ? 'free' : await tryPort(LOOPBACK, port);
  if (state === 'free') return;
  const other = await nextFreePort(LOOPBACK, Math.max(port + 1, 1024));
  const why = state === 'taken' ? 'is in use' : 'may not be listened on';
  throw new Error(`Port ${port} of ${LOOPBACK} ${why}; take another with --port${other ? ` ${other}` : ''}.`);
}
