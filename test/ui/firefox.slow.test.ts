import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import { Firefox, noFirefox } from '../browser/firefox.ts';
import { until } from '../until.ts';
import { asAgent, openDemo } from './demo/content.ts';

test('Firefox shows a new push, old versions of a thread, a decrypted payload and the graph of a run', {
  skip: noFirefox,
}, async () => {
  await using opened = await openDemo();
  const { dashboard, demo } = opened;
  await using firefox = await Firefox.open(dashboard.url);
  await firefox.goto('/ui/');
  await firefox.sees('Live');
  await asAgent(dashboard.relay, 'latecomer').pointers.push({ body: encodeUtf8('x'), channel: 'fresh' });
  await firefox.sees('latecomer pushed');
  await firefox.click('Threads');
  await firefox.click('Checkout latency');
  await firefox.sees('tax.quote, 1 480 ms');
  await firefox.click('Older');
  await firefox.sees('v17,');
  await firefox.click('Diff');
  await firefox.sees('From v16 to v17');
  await firefox.goto(demo.secret.slice(demo.secret.indexOf('/pull/')));
  await firefox.sees('The pool is in tax/pool.ts');
  await firefox.goto(`/ui/pipelines/${demo.run}?step=security`);
  await firefox.sees('What could an attacker do with it?');
  await until(async () => (await firefox.evaluate(`document.querySelectorAll('.graph-edge').length`)) === 6);
  await firefox.goto('/ui/channels/invoices?tab=dead');
  await firefox.sees('failed 3 times');
  assert.deepEqual(firefox.problems, []);
});
