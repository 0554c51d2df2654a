import * as platform from 'cloudflare:workers';

/** Replaces the module `cloudflare:workers` in a Worker under test, so that a test can wait for work after a response. */
export const { DurableObject } = platform;

const running = new Set<Promise<unknown>>();

export function waitUntil(work: Promise<unknown>): void {
  const kept = work.catch(() => {}).finally(() => running.delete(kept));
  running.add(kept);
  platform.waitUntil(kept);
}

/**
 * Maximum wait in ms for work after a response. Some work, such as the delivery of webhooks, ends only with its task.
 */
const PATIENCE_MS = 2_000;

export async function settled(): Promise<void> {
  const enough = new Promise<'enough'>((end) => setTimeout(() => end('enough'), PATIENCE_MS));
  while (running.size > 0) if ((await Promise.race([Promise.all(running), enough])) === 'enough') return;
}
