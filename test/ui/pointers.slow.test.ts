import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { generateFernetKey } from '../../src/formats/fernet.ts';
import { ContextRelay } from '../../src/public/index.ts';
import { noBrowser } from '../browser/chromium.ts';
import { type Dashboard, openDashboard } from './dashboard.ts';

const skip = noBrowser;
let dashboard: Dashboard;
let client: ContextRelay;
before(async () => {
  if (skip) return;
  dashboard = await openDashboard();
  client = new ContextRelay({ baseUrl: dashboard.relay.url });
});
after(async () => dashboard?.[Symbol.asyncDispose]());

const pathOf = (url: string) => url.slice(url.indexOf('/pull/'));

test('the page of a pointer shows metadata, payload, receipts and parts, and Markdown on request', {
  skip,
}, async () => {
  const text = '# Title\n\nSome **bold** words.\n\n## Second\n\nMore.\n';
  const url = await client.push(text, { metadata: { summary: 'A note', filename: 'note.md' } });
  const page = await dashboard.open(pathOf(url));
  await page.getByRole('region', { name: 'About the pointer' }).getByText('A note').waitFor();
  const payload = page.getByRole('region', { name: 'Payload' });
  await payload.getByText('Some **bold** words.').waitFor();
  assert.equal(await payload.locator('.markdown').count(), 0, 'it is laid out only when somebody asks');
  await payload.getByRole('button', { name: 'Formatted' }).click();
  await payload.locator('.markdown strong').getByText('bold').waitFor();
  await page.getByRole('region', { name: 'Receipts' }).getByText('stored').waitFor();
  await payload.getByText('Pull only a part').click();
  await payload.getByRole('button', { name: 'Pull', exact: true }).click();
  await payload.getByRole('region', { name: 'Pulled part' }).getByText('Second').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    payload.getByRole('button', { name: 'Download' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'note.md');
  assert.deepEqual(dashboard.problems, []);
});

test('an encrypted payload is decrypted in the page, and the key never leaves it', { skip }, async () => {
  const url = await client.push('geheim: ü 漢字', { encrypted: true });
  const key = url.split('#key=')[1]!;
  const page = await dashboard.open('/ui/channels');
  const requestTexts: string[] = [];
  page.on('request', (request) =>
    requestTexts.push(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData()}`),
  );
  await page.goto(dashboard.url + pathOf(url));
  await page.getByText('geheim: ü 漢字').waitFor();
  assert.ok(requestTexts.length > 2);
  // Skip the first request: its URL is the document's address with the fragment, which a browser never sends.
  assert.ok(requestTexts.slice(1).every((line) => !line.includes(key)));
  assert.ok(dashboard.relay.log.every((line) => !JSON.stringify(line).includes(key)));
  assert.deepEqual(dashboard.problems, []);
});

test('without the right key the page pulls nothing and says why', { skip }, async () => {
  const url = await client.push('only once', { encrypted: true, maxPulls: 1 });
  const [bare] = pathOf(url).split('#');
  for (const [address, expectedText] of [
    [bare!, 'encrypted and this address has no key'],
    [pathOf(url).slice(0, -4), 'key in this address is damaged'],
    [`${bare}#key=%`, 'key in this address is damaged'],
    [`${bare}#key=${generateFernetKey(systemEnv)}`, 'does not match'],
  ] as const) {
    const page = await dashboard.open(address);
    await page.getByRole('alert').getByText(expectedText).waitFor();
    assert.equal(await page.locator('#show').count(), 0);
    await page.context().close();
  }
  const page = await dashboard.open(pathOf(url));
  await page.getByRole('button', { name: 'Show it (uses one pull)' }).click();
  await page.getByText('only once', { exact: true }).waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('opening the page of a pointer with a pull limit uses no pull; clicking does', { skip }, async () => {
  const url = await client.push('read me once', { maxPulls: 1 });
  const id = pathOf(url).slice('/pull/'.length);
  const first = await dashboard.open(pathOf(url));
  await first.getByRole('button', { name: 'Show it (uses one pull)' }).waitFor();
  assert.ok(!(await client.receipts(id)).receipts.some(({ rung }) => rung === 'pulled'));
  const second = await dashboard.open(pathOf(url));
  await second.getByRole('button', { name: 'Show it (uses one pull)' }).click();
  await second.getByText('read me once').waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('the page of a missing pointer says that it is missing and what to do', { skip }, async () => {
  const page = await dashboard.open(`/pull/${crypto.randomUUID()}`);
  await page.getByText('Pointer not found.').waitFor();
  await page.getByRole('button', { name: 'Sign in with an API key' }).waitFor();
  // Ignore the failed request for the pointer, which the browser reports as a problem.
  assert.ok(dashboard.problems.splice(0).every((line) => line.includes('404')));
});

test('new pointers appear in the list', { skip }, async () => {
  const page = await dashboard.open('/ui/pointers');
  const table = page.getByRole('table', { name: 'Pointers, newest first' });
  await table.getByText('A note').waitFor();
  await client.push('x', { metadata: { summary: 'Pushed while somebody looked' }, channel: 'reviews' });
  await table.getByText('Pushed while somebody looked').waitFor();
  await page.getByLabel('Channel').fill('reviews');
  await page.keyboard.press('Enter');
  await table.getByText('A note').waitFor({ state: 'detached' });
  assert.deepEqual(dashboard.problems, []);
});
