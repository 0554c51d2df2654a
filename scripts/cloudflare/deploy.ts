/**
 * Bundles the Worker and deploys it with wrangler. Passes all arguments on to wrangler: `npm run
 * deploy:cloudflare -- --dry-run`.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { writeWorker } from './bundle.ts';

const place = join(import.meta.dirname, '..', '..', 'deploy', 'cloudflare');
await writeWorker();
const wrangler = join(place, 'node_modules', 'wrangler', 'bin', 'wrangler.js');
const { status } = spawnSync(process.execPath, [wrangler, 'deploy', ...process.argv.slice(2)], {
  cwd: place,
  stdio: 'inherit',
  env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
});
process.exitCode = status ?? 1;
