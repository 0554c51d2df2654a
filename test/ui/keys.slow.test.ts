import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { ContextRelay } from '../../src/public/index.ts';
import { noBrowser } from '../browser/chromium.ts';
import { type Dashboard, openDashboard } from './dashboard.ts';

const skip = noBrowser;
let dashboard: Dashboard;
let admin: string;
before(async () => {
  if (skip) return;
  dashboard = await openDashboard({ core: { auth: 'keys' }, server: { auth: 'keys' } });
  const { core, url } = dashboard.relay;
  const scopes = LOCAL_CALLER.scopes;
  admin = (await core.relay(LOCAL_CALLER, url).keys.create({ name: 'operator', scopes })).key;
});
after(async () => dashboard?.[Symbol.asyncDispose]());

async function signedIn(path: string): Promise<Page> {
  const page = await dashboard.open(path);
  await page.getByLabel('API key').fill(admin);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  // Ignore the rejected requests before the sign-in, which the browser reports as problems.
  const refused = dashboard.problems.splice(0);
  assert.ok(
    refused.every((line) => line.includes('401')),
    refused.join('\n'),
  );
  return page;
}

test('a wrong key is rejected, the right key is in no URL, and signing out deletes it', {
  skip,
}, async () => {
  const page = await dashboard.open('/ui/threads');
  await page.getByLabel('API key').fill(`cr_live_${'x'.repeat(32)}`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  const requestedUrls: string[] = [];
  page.on('request', (request) => requestedUrls.push(request.url()));
  await page.getByLabel('API key').fill(admin);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('There are no threads yet.').waitFor();
  assert.ok(requestedUrls.length > 0 && requestedUrls.every((url) => !url.includes(admin)));
  assert.ok(!(await page.evaluate(() => JSON.stringify({ ...localStorage }))).includes(admin));
  await page.reload();
  await page.getByText('There are no threads yet.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  assert.ok(!(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).includes(admin));
  dashboard.problems.length = 0;
});

test('a key can be created, shown once, used, rotated and revoked', { skip }, async () => {
  const page = await signedIn('/ui/keys');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name (others see it as the sender)').fill('ci');
  await page.getByRole('checkbox', { name: /^threads/ }).uncheck();
  await page.getByLabel('Only channels starting with').fill('builds.');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const newKey = (await page.locator('#new-key').textContent())!.trim();
  assert.match(newKey, /^cr_live_/);
  const client = new ContextRelay({ baseUrl: dashboard.relay.url, apiKey: newKey });
  await client.push('hello', { channel: 'builds.main' });
  await assert.rejects(client.push('hello', { channel: 'elsewhere' }), { code: 'forbidden' });
  await page.getByRole('button', { name: 'Done' }).click();
  await page.reload();
  const row = page.getByRole('table').getByRole('row').filter({ hasText: 'ci' });
  await row.waitFor();
  assert.equal(await page.getByText(newKey).count(), 0, 'nobody sees it again');

  await row.getByRole('button', { name: 'Rotate' }).click();
  await page.getByRole('button', { name: 'Rotate it' }).click();
  const second = (await page.locator('#new-key').textContent())!.trim();
  assert.notEqual(second, newKey);
  await page.getByRole('button', { name: 'Done' }).click();
  const rows = page.getByRole('table').getByRole('row').filter({ hasText: 'ci' });
  await rows.first().getByRole('button', { name: 'Revoke' }).click();
  const cut = await page
    .locator('dialog[open] .dialog-body')
    .evaluate((body) => body.scrollWidth > body.clientWidth);
  assert.equal(cut, false, 'the words of the dialog fit into it');
  await page.getByRole('button', { name: 'Revoke it' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const revoked = new ContextRelay({ baseUrl: dashboard.relay.url, apiKey: second, retries: 0 });
  await assert.rejects(revoked.push('x', { channel: 'builds.x' }), { code: 'unauthorized' });

  await page.getByRole('tab', { name: 'Usage' }).click();
  await page.getByText('Plan').waitFor();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV' }).click();
  const download = await downloading;
  assert.match(download.suggestedFilename(), /^usage-\d{4}-\d\d\.csv$/);
  const [head, ...lines] = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
  assert.equal(head, 'day,key,operation,count,bytes');
  assert.ok(
    lines.some((line) => /^\d{4}-\d\d-\d\d,key_\w+,push,1,5$/.test(line)),
    lines.join('\n'),
  );
  assert.deepEqual(dashboard.problems, []);
});

test('a share link shows one thread to anyone who has it, and nothing after it is revoked', {
  skip,
}, async () => {
  const relay = dashboard.relay.core.relay(LOCAL_CALLER, dashboard.relay.url);
  const { thread_id: id } = await relay.threads.create({ name: 'Shared notes' });
  await relay.threads.patch(id, {
    ops: [{ op: 'add', path: '/facts/-', value: { id: 'f1', key: 'open', value: 'to you' } }],
  });
  const owner = await signedIn(`/ui/threads/${id}`);
  await owner.getByRole('button', { name: 'Share' }).click();
  await owner.getByRole('button', { name: 'Create link' }).click();
  const link = (await owner.getByTestId('share-link').textContent())!.trim();

  const guest = await dashboard.open(link.slice(dashboard.url.length));
  await guest.getByText('to you').waitFor();
  assert.ok(!guest.url().includes('token'), 'it is taken out of the address');
  assert.equal(await guest.getByRole('button', { name: 'Delete' }).count(), 0);
  await guest.getByRole('tab', { name: /Events/ }).click();
  await relay.threads.record(id, 'came.later');
  await guest.getByRole('button', { name: 'came.later' }).waitFor();
  assert.deepEqual(dashboard.problems, []);

  await owner
    .getByRole('list', { name: 'Links to this thread' })
    .getByRole('button', { name: 'Revoke' })
    .click();
  await owner.getByRole('list', { name: 'Links to this thread' }).waitFor({ state: 'detached' });
  await guest.reload();
  await guest.getByText('This link no longer works.').waitFor();

  const DAY_MS = 86_400_000;
  const { path } = await relay.shares.create({ thread_id: id, expires_in: 86_400 });
  const late = await dashboard.open(path);
  await late.getByText('to you').waitFor();
  dashboard.relay.advance(DAY_MS + 1_000);
  await late.reload();
  await late.getByText('This link no longer works.').waitFor();
  dashboard.problems.length = 0;
});
