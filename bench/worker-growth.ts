import { setTimeout as pause } from 'node:timers/promises';
import { pushOne, type Shape } from './pointers.ts';
import { peakMegabytes, residentMegabytes } from './processes.ts';
import { type Server, temporaryFolder } from './servers.ts';
import { startWorker } from './workers.ts';

const SMALL_BYTES = 200_000;
const SETTLE_MS = 500;

/**
 * Returns by how many MB the peak resident memory of workerd grows with a push and then with a pull. Each measurement
 * starts a new workerd, because workerd keeps freed memory and collects garbage late. The result includes the local
 * storage, so a deployed Worker uses less.
 */
export async function memoryGrowth(
  form: Shape['form'],
  bytes: number,
): Promise<{ push: number; pull: number }> {
  using temporary = temporaryFolder();
  const home = temporary.path;
  let path = '';
  const push = await growth(home, async ({ url }) => {
    const data = 'All happy relays are alike.\n'.repeat(Math.ceil(bytes / 28)).slice(0, bytes);
    const [type, body] =
      form === 'raw' ? ['text/plain', data] : ['application/json', JSON.stringify({ data })];
    const headers = { 'content-type': type };
    const answer = await fetchBytes(`${url}/push`, { method: 'POST', headers, body });
    path = `/pull/${JSON.parse(answer.toString()).id}${form === 'raw' ? '?raw=1' : ''}`;
  });
  const pull = await growth(home, async ({ url }) => {
    const { length } = await fetchBytes(url + path);
    if (length < bytes) throw new Error(`The pull gave ${length} bytes.`);
  });
  return { push, pull };
}

async function growth(home: string, work: (worker: Server) => Promise<void>): Promise<number> {
  await using worker = await startWorker({ home });
  // The first requests load code into memory. Send them before measuring the load.
  await fetchBytes(await pushOne(worker, SMALL_BYTES));
  await pause(SETTLE_MS);
  const idle = residentMegabytes(worker);
  await work(worker);
  return peakMegabytes(worker) - idle;
}

async function fetchBytes(url: string, o?: RequestInit): Promise<Buffer> {
  const response = await fetch(url, o);
  const body = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${body}`);
  return body;
}
