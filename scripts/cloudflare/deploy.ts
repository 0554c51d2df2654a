/**
 * Bundles the Worker, creates the bucket if it is missing, and deploys the Worker with wrangler. wrangler gets all
 * arguments, as in `npm run deploy:cloudflare -- --dry-run`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWorker } from './bundle.ts';

const place = join(import.meta.dirname, '..', '..', 'deploy', 'cloudflare');
await writeWorker();
const wrangler = join(place, 'node_modules', 'wrangler', 'bin', 'wrangler.js');
const args = process.argv.slice(2);
const run = (...args: string[]) =>
  spawnSync(process.execPath, [wrangler, ...args], {
    cwd: place,
    stdio: 'inherit',
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
  }).status ?? 1;
const [, bucket = ''] =
  /^bucket_name = "(.+)"$/m.exec(readFileSync(join(place, 'wrangler.toml'), 'utf8')) ?? [];
// `info` also fails for other reasons, such as a missing login. Then the deployment below reports the error.
if (!args.includes('--dry-run') && run('r2', 'bucket', 'info', bucket) !== 0)
  run('r2', 'bucket', 'create', bucket);
process.exitCode = run('deploy', ...args);
