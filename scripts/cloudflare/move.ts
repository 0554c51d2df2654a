/** Moves the data that an earlier version of the Worker has stored into the objects of the tenants. */
import { parseArgs } from 'node:util';
import { readValue, url } from '../../src/app/option-readers.ts';
import { RelayError } from '../../src/base/errors.ts';
import { runScript } from './run-script.ts';

const HELP = `Moves the data of a Worker of version 0.2 or earlier, after the new version was deployed.

Usage  RELAY_ADMIN_KEY=… npm run move:cloudflare -- --to URL

  --to URL  address of the Worker

Until the move has finished, the Worker answers no other requests. If the command is interrupted, run it again: rows
that were moved are not moved twice. After the move has finished, the command does nothing.

Example
  RELAY_ADMIN_KEY=… npm run move:cloudflare -- --to https://contextrelay.example.workers.dev`;

/** Number of attempts per request, because a request may hit a limit of the platform. */
const TRIES = 5;
const PAUSE_MS = 1_000;

await runScript(HELP, async () => {
  const { values } = parseArgs({ options: { to: { type: 'string' } } });
  if (values.to === undefined) throw new RelayError('bad_usage', { what: '--to is missing' });
  const to = readValue('--to', url, values.to).replace(/\/$/, '');
  const counts: { [table: string]: number } = {};
  const objects = new Set<string>();
  for (let progress: unknown = null, first = true; first || progress !== null; first = false) {
    const { moved, progress: next } = await ask(to, progress);
    if (moved) {
      counts[moved.table] = (counts[moved.table] ?? 0) + moved.rows;
      objects.add(moved.object);
    }
    progress = next;
  }
  const texts = Object.entries(counts).map(([table, rows]) => `${rows} ${table}`);
  console.log(`Moved ${objects.size} objects: ${texts.join(', ') || 'nothing'}.`);
});

interface Answer {
  readonly moved?: { readonly object: string; readonly table: string; readonly rows: number };
  readonly progress: unknown;
}

async function ask(to: string, progress: unknown, tries = TRIES): Promise<Answer> {
  const answer = await fetch(`${to}/cloudflare/move`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${process.env.RELAY_ADMIN_KEY ?? ''}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ progress }),
  });
  if (answer.ok) return (await answer.json()) as Answer;
  const text = await answer.text();
  if (answer.status < 500 || tries === 1) throw new Error(`${to} answered ${answer.status}: ${text}`);
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return ask(to, progress, tries - 1);
}
