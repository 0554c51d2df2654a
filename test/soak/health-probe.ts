/**
 * Requests /health repeatedly from a worker thread, so that the work of the other clients does not count as
 * waiting.
 */
import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { pause } from '../../src/base/pause.ts';
import type { HealthSample } from './gauges.ts';

const TIMEOUT_MS = 30_000;
const EVERY_MS = 200;

const agent = new Agent({ keepAlive: true });

function isAnswered(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(`${url}/health`, { agent, timeout: TIMEOUT_MS }, (answer) => {
      answer.on('error', () => resolve(false));
      answer.resume().on('end', () => resolve(true));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

async function measure(of: HealthSample['of'], url: string): Promise<never> {
  for (;;) {
    const began = performance.now();
    const answered = await isAnswered(url);
    const sample: HealthSample = { at: Date.now(), of, ms: answered ? performance.now() - began : null };
    parentPort!.postMessage(sample);
    await pause(EVERY_MS);
  }
}

const { relay, bare } = workerData as { relay: string; bare: string };
await Promise.all([measure('relay', relay), measure('bare', bare)]);
