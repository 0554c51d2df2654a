import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { portNumber, readValue, text } from '../../src/app/option-readers.ts';
import { nextFreePort, tryPort } from '../../src/app/serve/port-owner.ts';
import { buildDashboard } from '../build/dashboard.ts';
import { LOOPBACK, startWorker } from './local-worker.ts';
import { runScript } from './run-script.ts';

const HELP = `Runs the relay as a Worker in workerd, for clients on this machine.

Usage  npm run dev:cloudflare -- [options]

  --port N    port to listen on at ${LOOPBACK} (default 8787); 0 picks a free port
  --keys      require API keys; RELAY_ADMIN_KEY is the admin key, else a random one is printed
  --home DIR  folder for the stored data; without it the data is lost at the end

Examples
  npm run dev:cloudflare
  npm run dev:cloudflare -- --port 9000 --home /tmp/worker
  npm run dev:cloudflare -- --keys`;

await runScript(HELP, async () => {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8787' },
      keys: { type: 'boolean' },
      home: { type: 'string' },
    },
  });
  const port = readValue('--port', portNumber, values.port);
  const home = values.home === undefined ? undefined : readValue('--home', text, values.home);
  if (home) mkdirSync(home, { recursive: true });
  await checkPort(port);

  // Build the dashboard into its own folder, because a deployment or another dev server may rebuild the
  // shared folder.
  const pages = mkdtempSync(join(tmpdir(), 'relay-pages-'));
  process.once('exit', () => rmSync(pages, { recursive: true, force: true }));
  let worker: Awaited<ReturnType<typeof startWorker>> | null = null;
  let stopping = false;
  // Stop only once, because in a terminal the signal arrives twice: from the terminal and from npm.
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    await worker?.stop();
    process.exit();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);

  console.error('building the Worker and the dashboard, which takes some seconds …');
  await buildDashboard(pages);
  const adminKeyFromEnv = process.env.RELAY_ADMIN_KEY;
  const adminKey = adminKeyFromEnv || randomBytes(24).toString('base64url');
  worker = await startWorker({ port, open: !values.keys, adminKey, home, pages });
  console.log(`listening on ${worker.url}, dashboard at ${worker.url}/ui`);
  if (values.keys) {
    const keyText = adminKeyFromEnv ? '"$RELAY_ADMIN_KEY"' : adminKey;
    console.log(
      `the admin key is ${adminKeyFromEnv ? 'RELAY_ADMIN_KEY' : adminKey}; create the first key with:`,
    );
    console.log(`  CONTEXTRELAY_URL=${worker.url} CONTEXTRELAY_API_KEY=${keyText} ./relay keys create alice`);
  }
});

async function checkPort(port: number): Promise<void> {
  const state = port === 0 ? 'free' : await tryPort(LOOPBACK, port);
  if (state === 'free') return;
  const other = await nextFreePort(LOOPBACK, Math.max(port + 1, 1024));
  const why = state === 'taken' ? 'is in use' : 'must not be used by this user';
  throw new Error(
    `Port ${port} of ${LOOPBACK} ${why}; choose another with --port${other ? ` ${other}` : ''}.`,
  );
}
