/** Serves the store in RELAY_HOME and prints its address. Calls webhooks on this machine unless GUARDED is set. */
import { loadConfig } from '../../../src/app/config.ts';
import { startServer } from '../../../src/app/serve/serve.ts';
import { openCore } from '../../../src/app/store/open-core.ts';

const { core } = await openCore(loadConfig(process.env, {}), 'server');
const { url } = await startServer({
  core,
  host: '127.0.0.1',
  port: 0,
  version: 'test',
  publicUrl: null,
  allowedHosts: [],
  loopbackWebhooks: process.env.GUARDED === undefined,
  log: (event) => process.stderr.write(`${JSON.stringify(event)}\n`),
});
process.stdout.write(`listening on ${url}\n`);
