import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import { noBrowser } from '../browser/chromium.ts';
import { until } from '../until.ts';
import { type Dashboard, openDashboard } from './dashboard.ts';
import { asAgent } from './demo/content.ts';

export interface Sizes {
  /** Number of versions of the thread. `artifacts` of them come from adding an artifact. */
  readonly versions: number;
  readonly artifacts: number;
  readonly pointers: number;
  /** Number of pointers that the test scrolls past. It must be more than `MOST_ROWS`. */
  readonly scrolled: number;
  /** Number of messages in the channel. It must be more than the 1 000 that the page keeps. */
  readonly messages: number;
}

/** Timeout of a test in ms. It is long, because filling the store takes minutes on a busy machine. */
const TIMEOUT_MS = 400_000;
/** Maximum number of DOM nodes on a page. */
const MOST_NODES = 3_000;
/** Maximum number of rows that a list keeps in memory. */
const MOST_ROWS = 2_000;
/** Maximum heap of a page in bytes after garbage collection. A list of 100 000 rows would exceed it. */
const MOST_HEAP = 48 * 1024 * 1024;

const nodes = (page: Page) => page.evaluate(() => document.querySelectorAll('*').length);

async function assertFewNodes(page: Page): Promise<void> {
  const amount = await nodes(page);
  assert.ok(amount < MOST_NODES, `${page.url()} has ${amount} nodes`);
}

/** Returns how many rows have been loaded, and how many of them are still in memory. */
function rowsOf(table: Locator): Promise<{ passed: number; rendered: number }> {
  // Read both at once, because the page changes meanwhile.
  return table.evaluate((element) => {
    const passed = Number(element.getAttribute('aria-rowcount')) - 1;
    const skipped =
      /([\d,]+) earlier rows were removed/.exec(element.ownerDocument.body.innerText)?.[1] ?? '0';
    return { passed, rendered: passed - Number(skipped.replaceAll(',', '')) };
  });
}

/**
 * Scrolls down until the list has passed `wanted` rows. After each change of the page the list jumps to its end, as if
 * a person held the End key.
 */
async function scrollThrough(page: Page, table: Locator, rowCount: number): Promise<void> {
  const body = table.locator('.table-body');
  const watcher = await body.evaluateHandle((element) => {
    const toEnd = () => element.scrollTo(0, element.scrollHeight);
    const watcher = new MutationObserver(toEnd);
    watcher.observe(element, { childList: true, subtree: true, attributes: true });
    toEnd();
    return watcher;
  });
  for (let before = 0; before < rowCount; ) {
    let now = before;
    await until(
      async () => {
        await assertFewNodes(page);
        const { passed, rendered } = await rowsOf(table);
        assert.ok(rendered <= MOST_ROWS, `${rendered} rows are rendered`);
        now = passed;
        return passed > before;
      },
      { what: `more than ${before} of ${rowCount} rows` },
    );
    before = now;
  }
  await watcher.evaluate((watcher) => watcher.disconnect());
}

async function assertSmallHeap(page: Page): Promise<void> {
  const debug = await page.context().newCDPSession(page);
  await debug.send('HeapProfiler.collectGarbage');
  await debug.send('Performance.enable');
  const { metrics } = await debug.send('Performance.getMetrics');
  const bytes = metrics.find(({ name }) => name === 'JSHeapUsedSize')!.value;
  assert.ok(bytes < MOST_HEAP, `${page.url()} holds ${Math.round(bytes / 1024 / 1024)} MiB`);
}

/** Tests that pages with long lists stay small. */
export function testVolume({ versions, artifacts, pointers, scrolled, messages }: Sizes): void {
  const skip = noBrowser;
  let dashboard: Dashboard;
  before(async () => {
    if (!skip) dashboard = await openDashboard();
  });
  after(async () => dashboard?.[Symbol.asyncDispose]());

  test(`a thread of ${versions} versions and ${artifacts} artifacts keeps the page small`, {
    skip,
    timeout: TIMEOUT_MS,
  }, async () => {
    const agent = asAgent(dashboard.relay, 'busy');
    const { thread_id: id } = await agent.threads.create({ name: 'long' });
    for (let at = 0; at < artifacts; at++)
      await agent.threads.putArtifact(id, {
        name: `note-${at}.txt`,
        mime: 'text/plain',
        body: encodeUtf8(`note ${at}`),
      });
    for (let at = 0; at < versions - artifacts; at++)
      await agent.threads.patch(id, {
        ops: [
          {
            op: at < 400 ? 'add' : 'replace',
            path: at < 400 ? '/facts/-' : `/facts/${at % 400}`,
            value: { id: `f${at}`, key: `k${at}`, value: at },
          },
        ],
      });
    const page = await dashboard.open(`/ui/threads/${id}`);
    await page.getByRole('region', { name: /^State at/ }).waitFor();
    await assertFewNodes(page);
    const slider = page.getByRole('slider', { name: 'Version of the state' });
    for (const version of [1, Math.floor(versions / 2), versions - 1]) {
      await slider.fill(String(version));
      await page.getByText(new RegExp(`^v${version}, `)).waitFor();
      await assertFewNodes(page);
    }
    await page.getByRole('tab', { name: /Artifacts/ }).click();
    const table = page.getByRole('table', { name: /Artifacts/ });
    await table.getByText(`note-${artifacts - 1}.txt`).waitFor();
    await scrollThrough(page, table, artifacts);
    await page.getByRole('tab', { name: /Events/ }).click();
    await page.getByRole('table', { name: /Events/ }).waitFor();
    await assertFewNodes(page);
    await assertSmallHeap(page);
    await page.context().close();
    assert.deepEqual(dashboard.problems, []);
  });

  test(`${pointers} pointers are listed by cursor, and rows far above are removed from the page`, {
    skip,
    timeout: TIMEOUT_MS,
  }, async () => {
    const agent = asAgent(dashboard.relay, 'busy');
    const push = (n: number) =>
      agent.pointers.push({ body: encodeUtf8(`p${n}`), metadata: { summary: `pointer ${n}` } });
    for (let at = 0; at < pointers - 1; at += 100)
      await Promise.all(Array.from({ length: Math.min(100, pointers - 1 - at) }, (_, by) => push(at + by)));
    // Push the last pointer in a later millisecond, because pushes in one millisecond have no defined order.
    await pause(5);
    await push(pointers - 1);
    const page = await dashboard.open('/ui/pointers');
    const table = page.getByRole('table', { name: /Pointers/ });
    await table.getByText(`pointer ${pointers - 1}`).waitFor();
    await scrollThrough(page, table, scrolled);
    await assertSmallHeap(page);
    const rows = await page.evaluate(() => document.querySelectorAll('[role="row"]').length);
    assert.ok(rows < 100, `${rows} rows are on the page`);
    await page.getByRole('button', { name: 'Back to the start' }).click();
    await table.getByText(`pointer ${pointers - 1}`).waitFor();
    await page.context().close();
    assert.deepEqual(dashboard.problems, []);
  });

  test('a channel with 500 messages a second keeps the page small and the newest message visible', {
    skip,
    timeout: TIMEOUT_MS,
  }, async () => {
    const agent = asAgent(dashboard.relay, 'firehose');
    const page = await dashboard.open('/ui/channels/firehose');
    await page.getByText('There are no messages.').waitFor();
    for (let sent = 0; sent < messages; ) {
      const began = Date.now();
      for (let at = 0; at < 50; at++) await agent.channels.publish('firehose', `message ${sent++}`);
      await new Promise((done) => setTimeout(done, Math.max(0, 100 - (Date.now() - began))));
      if (sent % 1_000 === 0) await assertFewNodes(page);
    }
    await page
      .getByRole('table', { name: /Messages/ })
      .getByText(`message ${messages - 1}`, { exact: true })
      .waitFor();
    await page
      .getByText(`${(messages - 1_000).toLocaleString('en')} older messages removed from this page`)
      .waitFor();
    await assertFewNodes(page);
    await assertSmallHeap(page);
    assert.deepEqual(dashboard.problems, []);
  });
}
