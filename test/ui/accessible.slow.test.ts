import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../browser/chromium.ts';
import type { Dashboard } from './dashboard.ts';
import { type Demo, openDemo } from './demo/content.ts';
import { everyPage } from './pages.ts';

const skip = noBrowser;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let dashboard: Dashboard;
let demo: Demo['demo'];
let opened: Demo;
before(async () => {
  if (skip) return;
  opened = await openDemo();
  ({ dashboard, demo } = opened);
});
after(async () => opened?.[Symbol.asyncDispose]());

/** Runs axe-core through the debugger, which bypasses the page's content security policy. */
async function violations(page: Page, rules: readonly string[] | null): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async (only) => {
    type Found = { id: string; impact: string; help: string; nodes: { html: string }[] };
    const { axe } = globalThis as unknown as {
      axe: { run(o: object): Promise<{ violations: Found[] }> };
    };
    const { violations } = await axe.run(only ? { runOnly: only } : {});
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]!.html.slice(0, 200)}`);
  }, rules);
}

/** Waits until nothing is loading. */
async function waitUntilLoaded(page: Page): Promise<void> {
  await page.locator('main h1, main .empty-title').first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll('main [aria-busy="true"]').length === 0);
}

for (const [colorScheme, width, rules] of [
  ['light', 1280, null],
  // Structure does not depend on the theme, but contrast does.
  ['dark', 380, ['color-contrast']],
] as const) {
  test(`no page has a serious accessibility problem or is wider than the window (${colorScheme}, ${width})`, {
    skip,
  }, async () => {
    const found: string[] = [];
    for (const [name, path] of Object.entries(everyPage(demo))) {
      const page = await dashboard.open(path, { colorScheme, viewport: { width, height: 800 } });
      await waitUntilLoaded(page);
      found.push(...(await violations(page, rules)).map((what) => `${name}: ${what}`));
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) found.push(`${name}: is ${over} pixels wider than the window`);
      await page.context().close();
    }
    assert.deepEqual(found, []);
    assert.deepEqual(dashboard.problems, []);
  });
}

test('all sections can be reached by keyboard alone, also in a narrow window', { skip }, async () => {
  const page = await dashboard.open('/ui/', { viewport: { width: 380, height: 800 } });
  await waitUntilLoaded(page);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content');
  await page.getByRole('button', { name: 'Open the menu' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Channels', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main', 'the new page has the focus');
  await page.goto(`${dashboard.url}/ui/threads/${demo.thread}`);
  await page.getByRole('tab', { name: 'State' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('tab', { name: 'What the model sees', selected: true }).waitFor();
});
