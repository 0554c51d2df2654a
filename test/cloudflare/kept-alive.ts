import * as platform from 'cloudflare:workers';

/** Stands in for the platform's module in a Worker under test: what is kept alive behind an answer can be waited for. */
export const { DurableObject } = platform;

const running = new Set<Promise<unknown>>();

export function waitUntil(work: Promise<unknown>): void {
  const kept = work.catch(() => {}).finally(() => running.delete(kept));
  running.add(kept);
  platform.waitUntil(kept);
}

export async function settled(): Promise<void> {
  while (running.size > 0) await Promise.all(running);
}
