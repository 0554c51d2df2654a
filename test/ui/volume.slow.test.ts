import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import { noBrowser } from '../browser/chromium.ts';
import { until } from '../until.ts';
import { type Dashboard, openDashboard } from './dashboard.ts';
import { asAgent } from './demo-content.ts';

/** A tenth of what is promised, which is as much as a page ever holds; `UI_VOLUME=full` takes all of it. */
const FULL = process.env.UI_VOLUME === 'full';
const VERSIONS = FULL ? 10_000 : 1_000;
const ARTIFACTS = FULL ? 5_000 : 500;
const POINTERS = FULL ? 100_000 : 4_000;
const MESSAGES = FULL ? 15_000 : 4_000;
/** On a page, whatever it lists. */
const MOST_NODES = 3_000;

const skip = noBrowser;
let dashboard: Dashboard;
before(async () => {
  if (skip) return;
  dashboard = await openDashboard();
});
after(async () => dashboard?.[Symbol.asyncDispose]());

const nodes = (page: Page) => page.evaluate(() => document.querySelectorAll('*').length);

async function assertFew(page: Page): Promise<void> {
  const amount = await nodes(page);
  assert.ok(amount < MOST_NODES, `${page.url()} has ${amount} nodes`);
}

/** Scrolls down until the list has ended or was let go of above; gives how many rows it says there are. */
async function scrollThrough(page: Page, table: Locator, enough: () => Promise<boolean>): Promise<void> {
  const body = table.locator('.table-body');
  await until(async () => {
    await body.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await assertFew(page);
    return enough();
  });
}

test(`a thread of ${VERSIONS} versions and ${ARTIFACTS} artifacts stays small on the page`, {
  skip,
  timeout: 400_000,
}, async () => {
  const agent = asAgent(dashboard.relay, 'busy');
  const { thread_id: id } = await agent.threads.create({ name: 'long' });
  for (let at = 0; at < ARTIFACTS; at++)
    await agent.threads.putArtifact(id, {
      name: `note-${at}.txt`,
      mime: 'text/plain',
      body: encodeUtf8(`note ${at}`),
    });
  for (let at = 0; at < VERSIONS - ARTIFACTS; at++)
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
  await assertFew(page);
  const slider = page.getByRole('slider', { name: 'Version of the state' });
  for (const version of [1, Math.floor(VERSIONS / 2), VERSIONS - 1]) {
    await slider.fill(String(version));
    await page.getByText(new RegExp(`^v${version}, `)).waitFor();
    await assertFew(page);
  }
  await page.getByRole('tab', { name: /Artifacts/ }).click();
  const table = page.getByRole('table', { name: /Artifacts/ });
  await table.getByText(`note-${ARTIFACTS - 1}.txt`).waitFor();
  await scrollThrough(page, table, async () => (await page.getByText(/in all|were let go/).count()) > 0);
  await page.getByRole('tab', { name: /Events/ }).click();
  await page.getByRole('table', { name: /Events/ }).waitFor();
  await assertFew(page);
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test(`${POINTERS} pointers are listed by cursor; rows far above are let go`, {
  skip,
  timeout: 400_000,
}, async () => {
  const agent = asAgent(dashboard.relay, 'busy');
  for (let at = 0; at < POINTERS; at += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, by) =>
        agent.pointers.push({ body: encodeUtf8(`p${at + by}`), metadata: { summary: `pointer ${at + by}` } }),
      ),
    );
  const page = await dashboard.open('/ui/pointers');
  const table = page.getByRole('table', { name: /Pointers/ });
  await table.getByText(`pointer ${POINTERS - 1}`).waitFor();
  await scrollThrough(page, table, async () => (await page.getByText('rows above were let go').count()) > 0);
  const rows = await page.evaluate(() => document.querySelectorAll('[role="row"]').length);
  assert.ok(rows < 100, `${rows} rows are on the page`);
  await page.getByRole('button', { name: 'Back to the first' }).click();
  await table.getByText(`pointer ${POINTERS - 1}`).waitFor();
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('a channel at 500 messages a second keeps the page small, and the newest in sight', {
  skip,
  timeout: 200_000,
}, async () => {
  const agent = asAgent(dashboard.relay, 'firehose');
  const page = await dashboard.open('/ui/channels/firehose');
  await page.getByText('There are no messages here.').waitFor();
  for (let sent = 0; sent < MESSAGES; ) {
    const began = Date.now();
    for (let at = 0; at < 50; at++) await agent.channels.publish('firehose', `message ${sent++}`);
    await new Promise((done) => setTimeout(done, Math.max(0, 100 - (Date.now() - began))));
    if (sent % 1_000 === 0) await assertFew(page);
  }
  await page
    .getByRole('table', { name: /Messages/ })
    .getByText(`message ${MESSAGES - 1}`, { exact: true })
    .waitFor();
  await page.getByText(`${(MESSAGES - 1_000).toLocaleString('en')} older ones let go`).waitFor();
  await assertFew(page);
  assert.deepEqual(dashboard.problems, []);
});
