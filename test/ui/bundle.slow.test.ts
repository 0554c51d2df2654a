import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { noBrowser } from '../browser/chromium.ts';
import { buildPages } from './dashboard.ts';
import { openDemo } from './demo/content.ts';

const LIMIT = 180 * 1024;
/**
 * Scripts that are not part of the measured size. The highlighter and its languages load on demand, and no page loads
 * `excerpt`.
 */
const HIGHLIGHTER = /^(?:excerpt|highlight|typescript|python|shellscript|yaml|go|rust|sql|css)-/;

let pages: Awaited<ReturnType<typeof buildPages>>;
before(async () => {
  pages = await buildPages();
});
after(() => pages?.remove());

const scripts = () => readdirSync(join(pages.folder, 'assets')).filter((name) => name.endsWith('.js'));
const packed = (name: string) => brotliCompressSync(readFileSync(join(pages.folder, 'assets', name))).length;

test('all scripts without the highlighter are smaller than 180 KB compressed', () => {
  const ownScripts = scripts().filter((name) => !HIGHLIGHTER.test(name));
  const sum = ownScripts.reduce((bytes, name) => bytes + packed(name), 0);
  assert.ok(ownScripts.length > 3 && sum < LIMIT, `${sum} bytes in ${ownScripts.length} files`);
});

test('the build loads nothing from other hosts and has no inline scripts or styles', () => {
  for (const page of ['index.html', 'pull.html']) {
    const html = readFileSync(join(pages.folder, page), 'utf8');
    assert.ok(!/<script(?![^>]*\bsrc="\/ui\/assets\/)/.test(html), page);
    assert.ok(!/<style|\sstyle=|https?:\/\//.test(html), page);
  }
  for (const name of readdirSync(join(pages.folder, 'assets')).filter((name) => name.endsWith('.css')))
    assert.ok(
      !/url\((?!["']?data:)|@import/.test(readFileSync(join(pages.folder, 'assets', name), 'utf8')),
      name,
    );
});

test('no view loads more than 180 KB of script, including its highlighter', { skip: noBrowser }, async () => {
  await using opened = await openDemo();
  const { dashboard, demo } = opened;
  for (const path of [
    '/ui/',
    `/ui/threads/${demo.thread}?tab=artifacts`,
    `/ui/pipelines/${demo.run}`,
    '/ui/channels/reviews',
  ]) {
    const requestedPaths = new Set<string>();
    const page = await dashboard.open('/ui/no-such-page');
    page.on('request', (request) => requestedPaths.add(new URL(request.url()).pathname));
    await page.goto(dashboard.url + path);
    if (path.includes('artifacts')) {
      await page.getByRole('button', { name: 'quote.ts' }).click();
      await page.locator('.tok-keyword').first().waitFor();
    } else await page.locator('h1').waitFor();
    const bytes = [...requestedPaths]
      .filter((name) => /^\/ui\/assets\/.*\.js$/.test(name))
      .reduce((sum, name) => sum + packed(name.slice('/ui/assets/'.length)), 0);
    assert.ok(bytes > 20_000 && bytes < LIMIT, `${path}: ${bytes} bytes`);
    await page.context().close();
  }
});
