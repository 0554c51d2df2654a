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

test('a home is made for its owner alone, with the folders above it', () => {
  const home = join(place, 'a', 'b');
  makeHome(home);
  assert.equal(statSync(home).mode & 0o777, 0o700);
  makeHome(home);
});

test('a home that exists keeps its mode', () => {
  const home = join(place, 'open');
  makeHome(home);
  chmodSync(home, 0o755);
  makeHome(home);
  assert.equal(statSync(home).mode & 0o777, 0o755);
});

test('a file in its place is refused with a sentence', () => {
  const file = join(place, 'file');
  writeFileSync(file, '');
  for (const home of [file, join(file, 'below')]) {
    assert.throws(
      () => makeHome(home),
      (e) => isRelayError(e, 'failed') && /is not a folder/.test(e.message),
    );
  }
});

test('the home is the flag, then the variable, then ~/.relay', () => {
  assert.equal(findHome(undefined, {}), join(homedir(), '.relay'));
  assert.equal(findHome(undefined, { RELAY_HOME: '/a' }), '/a');
  assert.equal(findHome('/b', { RELAY_HOME: '/a' }), '/b');
});

test('a relative home is made absolute and an empty flag is refused', () => {
  assert.equal(findHome('x', {}), join(process.cwd(), 'x'));
  assert.throws(
    () => findHome('', {}),
    (e) => isRelayError(e, 'bad_usage'),
  );
});

const noProc = process.platform === 'linux' ? false : 'there is no /proc';

test('a place where no folder can be made is an error, and not a wait for ever', { skip: noProc }, () => {
  for (const home of ['/proc/relay', '/proc/relay/below', '/proc/self/relay']) {
    assert.throws(
      () => makeHome(home),
      (e) => isRelayError(e, 'failed') && /cannot be made/.test(e.message),
    );
  }
});
test('the secret of a home is made once, for its owner alone, and a damaged one is refused', async (t) => {
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
