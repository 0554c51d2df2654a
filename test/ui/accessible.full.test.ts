import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noBrowser } from '../browser/chromium.ts';
import { findProblems } from './axe.ts';
import { type Demo, openDemo } from './demo/content.ts';

const skip = noBrowser;
let opened: Demo;
before(async () => {
  if (!skip) opened = await openDemo();
});
after(async () => opened?.[Symbol.asyncDispose]());

test('axe finds nothing on any page, and no page is wider than the window (light, 390)', {
  skip,
}, async () => {
  assert.deepEqual(await findProblems(opened, 'light', 390, null), []);
});

test('axe finds nothing on any page, and no page is wider than the window (dark, 1440)', {
  skip,
}, async () => {
  assert.deepEqual(await findProblems(opened, 'dark', 1440, ['color-contrast']), []);
});
