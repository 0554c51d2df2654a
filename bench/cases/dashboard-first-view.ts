import { ContextRelay } from '../../src/public/index.ts';
import { noBrowser, openBrowser } from '../../test/browser/chromium.ts';
import type { Bench } from '../bench.ts';
import { startRelay } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const POINTERS = 5_000;
const AT_ONCE = 32;
/** Maximum time in ms until the page is readable. A delay of one second still feels immediate. */
const BUDGET_MS = 1_000;
/** Time in ms for which the page shows a busy channel while nobody uses the page. */
const LIVE_MS = 5_000;
const LIVE_EVERY_MS = 20;

/** Time until the first page is readable. The ratio is this time divided by its budget. */
export default {
  name: 'dashboard-first-view',
  claim: null,
  limit: null,
  async run({ rounds }) {
    if (noBrowser) return { skipped: noBrowser };
    await using relay = await startRelay();
    const client = new ContextRelay({ baseUrl: relay.url });
    for (let at = 0; at < POINTERS; at += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, () =>
          client.push('x', { channel: 'busy', metadata: { summary: 'x' } }),
        ),
      );
    const browser = await openBrowser();
    try {
      const views: Round[] = [];
      // The first round fills the server's caches and does not count.
      for (let round = 0; round <= rounds; round++) {
        const page = await (await browser.newContext()).newPage();
        const began = performance.now();
        await page.goto(`${relay.url}/ui/pointers`);
        await page.getByRole('row').nth(10).waitFor();
        if (round > 0) views.push({ ours: performance.now() - began, baseline: BUDGET_MS });
        await page.context().close();
      }
      const detail = `until a list of ${POINTERS} pointers is seen in a new window, cache empty; budget: ${BUDGET_MS} ms`;
      return { ...summarise(views, 'ms', detail), more: await longTasks(browser, relay.url, client) };
    } finally {
      await browser.close();
    }
  },
} satisfies Bench;

/**
 * Opens the page of a channel, then publishes many messages to the channel. In both phases, counts the tasks of the
 * page that take more than 50 ms, because a person who types notices such a delay. Returns the counts as a sentence.
 */
async function longTasks(
  browser: Awaited<ReturnType<typeof openBrowser>>,
  url: string,
  client: ContextRelay,
): Promise<string> {
  const page = await (await browser.newContext()).newPage();
  await page.addInitScript(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { longTasks: tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(Math.round(duration));
    }).observe({ type: 'longtask', buffered: true });
  });
  await page.goto(`${url}/ui/channels/busy`);
  await page.getByRole('row').nth(10).waitFor();
  const read = () => page.evaluate(() => (globalThis as unknown as { longTasks: number[] }).longTasks);
  const opening = (await read()).length;
  let sent = 0;
  for (const began = performance.now(); performance.now() - began < LIVE_MS; sent += 10) {
    await Promise.all(Array.from({ length: 10 }, () => client.publish('busy', 'x')));
    await new Promise((done) => setTimeout(done, LIVE_EVERY_MS));
  }
  const all = await read();
  const [first, live] = [all.slice(0, opening), all.slice(opening)];
  const formatTasks = (tasks: readonly number[]) =>
    tasks.length === 0 ? 'none' : `${tasks.length}, the longest ${Math.max(...tasks)} ms`;
  const rate = Math.round(sent / (LIVE_MS / 1_000));
  return `long tasks of the page of a channel: ${formatTasks(first)} while it opens; ${formatTasks(live)} in ${LIVE_MS / 1_000} s at ${rate} messages a second`;
}
