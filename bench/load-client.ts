/**
 * A process with clients that push, pull and peek for a while. It gets one job from its parent process and returns counts
 * per status and the latencies.
 */
import { Agent, request } from 'node:http';

export interface LoadJob {
  readonly url: string;
  /** API keys, distributed evenly over the clients. */
  readonly keys: readonly string[];
  readonly clients: number;
  readonly ms: number;
  /** Pause between two requests of a client in ms; 0 for none. */
  readonly pauseMs: number;
  readonly bodyBytes: number;
}

export interface LoadResult {
  /** Number of answers per status; `failed` counts requests without an answer. */
  readonly statuses: Record<string, number>;
  /** Latencies in ms of requests answered with 2xx. */
  readonly times: readonly number[];
}

process.once('message', async (job: LoadJob) => {
  process.send?.(await run(job), () => process.disconnect?.());
});

async function run(job: LoadJob): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: job.clients });
  const statuses: Record<string, number> = {};
  const times: number[] = [];
  const body = Buffer.alloc(job.bodyBytes, 'All happy relays are alike. ');
  const until = performance.now() + job.ms;
  const client = async (key: string) => {
    let id: string | null = null;
    for (let n = 0; performance.now() < until; n++) {
      const [method, path] =
        id === null || n % 4 === 0 ? ['POST', '/push'] : ['GET', READS[n % 3]!.replace('ID', id)];
      const began = performance.now();
      const { status, text } = await ask(
        job.url + path,
        method!,
        key,
        method === 'POST' ? body : null,
        agent,
      );
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status.startsWith('2')) times.push(performance.now() - began);
      if (method === 'POST' && status === '200') id = (JSON.parse(text) as { id: string }).id;
      if (job.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, job.pauseMs));
    }
  };
  await Promise.all(Array.from({ length: job.clients }, (_, i) => client(job.keys[i % job.keys.length]!)));
  agent.destroy();
  return { statuses, times };
}

const READS = ['/pull/ID', '/peek/ID', '/pull/ID?raw=1'];

function ask(
  url: string,
  method: string,
  key: string,
  body: Buffer | null,
  agent: Agent,
): Promise<{ status: string; text: string }> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body ? { 'content-type': 'text/plain', 'content-length': body.length } : {}),
    };
    const clientRequest = request(url, { agent, method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.once('end', () => resolve({ status: String(response.statusCode), text }));
      response.once('error', () => resolve({ status: 'failed', text: '' }));
    });
    clientRequest.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ status: `failed ${error.code}`, text: '' }),
    );
    clientRequest.end(body ?? undefined);
  });
}
