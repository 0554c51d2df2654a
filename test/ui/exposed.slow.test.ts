import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noBrowser as skip } from '../browser/chromium.ts';
import { openDashboard } from './dashboard.ts';

const WARNING = 'anyone who can connect can read, change and delete everything';

for (const exposed of [true, false]) {
  test(`the dashboard of an open relay ${exposed ? 'on the network shows a warning' : 'on this machine only shows no warning'}`, {
    skip,
  }, async () => {
    await using dashboard = await openDashboard({ core: { exposed } });
    const page = await dashboard.open('/ui');
    await page.getByText(exposed ? 'No keys' : 'This machine, no keys', { exact: true }).waitFor();
    assert.equal(await page.getByText(WARNING).count(), exposed ? 1 : 0);
    assert.deepEqual(dashboard.problems, []);
  });
}
