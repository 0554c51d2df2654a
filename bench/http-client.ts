/**
 * Sends requests to both sides in turn: over node:http with kept-alive connections, or to NATS or Redis if the URL says so.
 * It runs in its own process, so that no server shares its event loop. It gets one job from its parent process and
 * returns the measured rounds.
 */

import { Agent, request } from 'node:http';
import type { Asker, Job, Side } from './compare-requests.ts';
import { natsAsker } from './raw-nats.ts';
import { redisWriter } from './redis-writer.ts';
import { blockOf, inTurn } from './rounds.ts';
import { median, type Round } from './statistics.ts';

process.once('message', async (job: Job) => {
  try {
    process.send?.({ rounds: await measure(job) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) });
  }
  process.disconnect?.();
});

async function measure(job: Job): Promise<Round[]> {
  const { ours, baseline, atOnce } = job;
  using oursAsker = await askerOf(ours, atOnce);
  using baselineAsker = await askerOf(baseline, atOnce);
  const measure = atOnce === 1 ? latency : rate;
  const blocks =
    (side: Side, { ask }: Asker) =>
    () =>
      blockOf(job.requests, side.pid, () => measure(ask, job));
  return await inTurn(blocks(ours, oursAsker), blocks(baseline, baselineAsker), job);
}

async function askerOf(side: Side, atOnce: number): Promise<Asker> {
  const body = bodyOf(side);
  if (side.url.startsWith('nats:')) return natsAsker(side.url, body!);
  if (side.url.startsWith('redis:')) return redisWriter(side.url, body!, atOnce);
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  return { ask: () => ask(side, agent, body), [Symbol.dispose]: () => agent.destroy() };
}

/** Returns the median latency of sequential requests in ms. */
async function latency(ask: Asker['ask'], job: Job): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < job.requests; i++) {
    const began = performance.now();
    await ask();
    times.push(performance.now() - began);
  }
  return median(times);
}

/** Returns requests per second with `atOnce` always in flight. */
async function rate(ask: Asker['ask'], job: Job): Promise<number> {
  let left = job.requests;
  const began = performance.now();
  const worker = async () => {
    while (left-- > 0) await ask();
  };
  await Promise.all(Array.from({ length: job.atOnce }, worker));
  return job.requests / ((performance.now() - began) / 1000);
}

function bodyOf(side: Side): Buffer | undefined {
  if (side.bodyBytes === undefined) return undefined;
  const line = 'The quick brown fox jumps over the lazy dog, and the dog does not mind.\n';
  const body = Buffer.alloc(side.bodyBytes, line);
  return side.asJson ? Buffer.from(JSON.stringify({ data: body.toString() })) : body;
}

function ask(side: Side, agent: Agent, body: Buffer | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(new Error(`${side.url}: ${error.message}`));
    const type = side.asJson ? 'application/json' : 'text/plain';
    const headers = {
      ...(body && { 'content-type': type, 'content-length': body.length }),
      ...(side.key && { authorization: `Bearer ${side.key}` }),
    };
    const clientRequest = request(side.url, { agent, method: body ? 'POST' : 'GET', headers }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.once('error', failed);
      response.once('end', () => {
        const status = response.statusCode ?? 0;
        if (status < 200 || status > 299) reject(new Error(`${side.url} answered ${status}`));
        else if (side.answerBytes !== undefined && bytes !== side.answerBytes) {
          reject(new Error(`${side.url} answered ${bytes} bytes instead of ${side.answerBytes}`));
        } else resolve();
      });
    });
    clientRequest.once('error', failed);
    clientRequest.end(body);
  });
}
