import * as platform from 'cloudflare:workers';

/** Stands in for the platform's module in a Worker under test: what is kept alive behind an answer can be waited for. */
export const { DurableObject } = platform;

const running = new Set<Promise<unknown>>();

export function waitUntil(work: Promise<unknown>): void {
  const kept = work.catch(() => {}).finally(() => running.delete(kept));
  running.add(kept);
  platform.waitUntil(kept);
}

/** What goes on as long as a task does, such as telling a webhook of it, is not waited for to its end. */
const PATIENCE_MS = 2_000;

export async function settled(): Promise<void> {
  const enough = new Promise<'enough'>((end) => setTimeout(() => end('enough'), PATIENCE_MS));
  while (running.size > 0) if ((await Promise.race([Promise.all(running), enough])) === 'enough') return;
}
