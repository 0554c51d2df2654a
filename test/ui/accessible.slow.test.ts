import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noBrowser } from '../browser/chromium.ts';
import { findProblems, waitUntilLoaded } from './axe.ts';
import { type Demo, openDemo } from './demo/content.ts';

const skip = noBrowser;
let opened: Demo;
before(async () => {
  if (!skip) opened = await openDemo();
});
after(async () => opened?.[Symbol.asyncDispose]());

test('axe finds nothing on any page, and no page is wider than the window (light, 1440)', {
  skip,
}, async () => {
  assert.deepEqual(await findProblems(opened, 'light', 1440, null), []);
});

// In the dark theme only the contrast is tested, because the structure does not depend on the theme.
test('axe finds nothing on any page, and no page is wider than the window (dark, 390)', {
  skip,
}, async () => {
  assert.deepEqual(await findProblems(opened, 'dark', 390, ['color-contrast']), []);
});

test('all sections can be reached by keyboard alone, also in a narrow window', { skip }, async () => {
  const { dashboard, demo } = opened;
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
