import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wrongVersions } from '../../scripts/release/checklist.ts';
import { isOwn, PLATFORMS } from '../../scripts/release/executable.ts';
import { formula } from '../../scripts/release/formula.ts';
import { notes } from '../../scripts/release/notes.ts';
import { missingTools } from '../../scripts/release/run.ts';
import { packageVersion } from '../../src/app/own-package.ts';

test('the version is the same wherever it is said', () => {
  assert.deepEqual(wrongVersions(packageVersion()), []);
  assert.match(wrongVersions('9.9.9').join(), /python\/src\/contextrelay\/__init__\.py says/);
});

test('the notes say what was not tried and what is too large, and what the changelog has of the version', () => {
  const other = PLATFORMS.find((platform) => !isOwn(platform))!;
  const own = { ...other, name: 'own', node: `${process.platform}-${process.arch}` as const };
  const text = notes(
    '0.1.0',
    [
      { platform: own, size: 120e6, archive: 30e6 },
      { platform: other, size: 150e6, archive: 34e6 },
    ],
    { mostBytes: 125e6, leftOut: ['No rpm is made: rpmbuild is not installed.'] },
  );
  assert.match(text, /^No rpm is made: rpmbuild is not installed\.$/m);
  assert.match(text, /\| own \| 120 MB \| 30 MB \| yes \|/);
  assert.match(text, /\| 150 MB, over the limit of 125 MB: .+ \| 34 MB \| no: /);
  assert.match(text, /The first version: agents hand each other a pointer/);
  assert.ok(!text.includes('0.2.0'));
});

test('a tool that is missing is named before anything is made', () => {
  const { required, optional } = missingTools('/nowhere');
  assert.match(
    required.join('\n'),
    /No release without archives: xz is not installed \(Debian: apt-get install xz-utils\)/,
  );
  assert.match(
    optional.get('rpm')!,
    /No rpm is made: rpmbuild is not installed \(Debian: apt-get install rpm\)/,
  );
  assert.ok(!missingTools(process.env.PATH).required.some((line) => line.includes('tar is not')));
});

test('a formula has the checksum of each archive, and is not made without', () => {
  const sums = new Map([['contextrelay-1.0.0-linux-x64.tar.xz', 'aaaa']]);
  assert.throws(() => formula('1.0.0', 'https://example', sums), /needs contextrelay-1\.0\.0-macos-arm64/);
  sums.set('contextrelay-1.0.0-macos-arm64.tar.xz', 'bbbb');
  assert.match(formula('1.0.0', 'https://example', sums), /macos-arm64\.tar\.xz"\n {4}sha256 "bbbb"/);
});
