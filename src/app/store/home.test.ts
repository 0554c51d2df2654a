import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import { findHome, homeSecret, makeHome } from './home.ts';

let place = '';
before(() => {
  place = mkdtempSync(join(tmpdir(), 'relay-home-'));
});
after(() => rmSync(place, { recursive: true, force: true }));

test('a home is created with its parent folders, readable only by its owner', () => {
  const home = join(place, 'a', 'b');
  makeHome(home);
  assert.equal(statSync(home).mode & 0o777, 0o700);
  makeHome(home);
});

test('an existing home keeps its mode', () => {
  const home = join(place, 'open');
  makeHome(home);
  chmodSync(home, 0o755);
  makeHome(home);
  assert.equal(statSync(home).mode & 0o777, 0o755);
});

test('a file at the path of the home is rejected with a clear error', () => {
  const file = join(place, 'file');
  writeFileSync(file, '');
  for (const home of [file, join(file, 'below')]) {
    assert.throws(
      () => makeHome(home),
      (e) => isRelayError(e, 'failed') && /is not a folder/.test(e.message),
    );
  }
});

test('the home is the flag, else the variable, else ~/.relay', () => {
  assert.equal(findHome(undefined, {}), join(homedir(), '.relay'));
  assert.equal(findHome(undefined, { RELAY_HOME: '/a' }), '/a');
  assert.equal(findHome('/b', { RELAY_HOME: '/a' }), '/b');
});

test('a relative home becomes absolute, and an empty flag is rejected', () => {
  assert.equal(findHome('x', {}), join(process.cwd(), 'x'));
  assert.throws(
    () => findHome('', {}),
    (e) => isRelayError(e, 'bad_usage'),
  );
});

const noProc = process.platform === 'linux' ? false : 'there is no /proc';

test('a path where no folder can be created is an error and does not hang', { skip: noProc }, () => {
  for (const home of ['/proc/relay', '/proc/relay/below', '/proc/self/relay']) {
    assert.throws(
      () => makeHome(home),
      (e) => isRelayError(e, 'failed') && /cannot be created/.test(e.message),
    );
  }
});
test('the secret of a home is created once, readable only by its owner, and a damaged secret is rejected', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'relay-secret-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const home = join(root, 'home');
  const [one, other] = await Promise.all([homeSecret(home)(), homeSecret(home)()]);
  assert.equal(one.length, 32);
  assert.deepEqual(one, other);
  assert.notDeepEqual(one, await homeSecret(join(root, 'another'))());
  assert.deepEqual(readdirSync(home), ['frame-secret']);
  assert.equal(statSync(join(home, 'frame-secret')).mode & 0o777, 0o600);
  writeFileSync(join(home, 'frame-secret'), '');
  await assert.rejects(homeSecret(home)(), /frame-secret is damaged/);
});
