import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { systemEnv } from '../../src/base/env.ts';
import { generateFernetKey } from '../../src/formats/fernet.ts';
import { ContextRelay } from '../../src/public/index.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { noBrowser, openBrowser } from './chromium.ts';

const skip = noBrowser;
let relay: RelayUnderTest;
let client: ContextRelay;
let browser: Browser;
before(async () => {
  if (skip) return;
  relay = await startRelay();
  client = new ContextRelay({ baseUrl: relay.url });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await relay?.[Symbol.asyncDispose]();
});

async function open(url: string): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.locator('#status:not(:has-text("…"))').waitFor({ state: 'attached' });
  return page;
}

const HOSTILE = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';

test('a browser shows the payload and its metadata as text, whatever they hold', { skip }, async () => {
  const page = await open(await client.push(HOSTILE, { metadata: { [HOSTILE]: HOSTILE } }));
  assert.equal(await page.locator('#content').textContent(), HOSTILE);
  assert.equal(await page.locator('#metadata dd').textContent(), HOSTILE);
  assert.equal(await page.title(), 'ContextRelay pointer');
  assert.equal(await page.locator('#content *').count(), 0);
});

test('an encrypted payload is decrypted in the browser, and the key stays there', { skip }, async () => {
  const url = await client.push('geheim: ü 漢字', { encrypted: true });
  const page = await browser.newPage();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(`${request.url()} ${JSON.stringify(request.headers())}`));
  await page.goto(url);
  await page.locator('#content:not([hidden])').waitFor();
  assert.equal(await page.locator('#content').textContent(), 'geheim: ü 漢字');
  const key = url.split('#key=')[1]!;
  // The page's own address keeps its fragment; what the browser sends is in the relay's hands.
  assert.ok(asked.slice(1).every((line) => !line.includes(key)));
});

test('a wrong key is told, and nothing is shown', { skip }, async () => {
  const url = await client.push('x', { encrypted: true });
  const page = await open(`${url.split('#')[0]}#key=${generateFernetKey(systemEnv)}`);
  await page.locator('.status.bad').waitFor();
  assert.match((await page.locator('#status').textContent())!, /does not fit/);
  assert.equal(await page.locator('#content').isVisible(), false);
});

test('without the right key nothing is fetched, and the pull is left for whoever has it', {
  skip,
}, async () => {
  const url = await client.push('only once', { encrypted: true, maxPulls: 1 });
  const [bare] = url.split('#');
  const wrong: [string, RegExp][] = [
    [bare!, /encrypted and this address has no key/],
    [url.slice(0, -4), /key in this address is damaged/],
    [`${bare}#key=%`, /key in this address is damaged/],
    [`${bare}#key=${'A'.repeat(43)}=`, /key in this address is damaged/],
    [`${bare}#key=${generateFernetKey(systemEnv)}`, /does not fit/],
  ];
  for (const [address, said] of wrong) {
    const page = await open(address);
    await page.locator('.status.bad').waitFor();
    assert.match((await page.locator('#status').textContent())!, said);
    assert.equal(await page.locator('#show').isVisible(), false);
    await page.close();
  }
  const page = await open(url);
  await page.locator('#show').click();
  await page.locator('#content:not([hidden])').waitFor();
  assert.equal(await page.locator('#content').textContent(), 'only once');
});

test('opening the page costs no pull; showing the payload costs one', { skip }, async () => {
  const url = await client.push('only once', { maxPulls: 1 });
  await (await open(url)).close();
  const page = await open(url);
  assert.match((await page.locator('#status').textContent())!, /opened once/);
  await page.locator('#show').click();
  await page.locator('#content:not([hidden])').waitFor();
  assert.equal(await page.locator('#content').textContent(), 'only once');
  const late = await open(url);
  await late.locator('#show').click();
  await late.locator('.status.bad').waitFor();
});

test('a pointer that is not there says so', { skip }, async () => {
  const page = await open(`${relay.url}/pull/${crypto.randomUUID()}`);
  assert.match((await page.locator('#status').textContent())!, /Nothing there/);
});
