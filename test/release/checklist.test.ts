import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOwn, PLATFORMS } from '../../scripts/build/executable.ts';
import { executableFormat, wrongVersions } from '../../scripts/release/checklist.ts';
import { formula } from '../../scripts/release/formula.ts';
import { notes } from '../../scripts/release/notes.ts';
import { missingTools } from '../../scripts/release/run.ts';
import { packageVersion } from '../../src/app/own-package.ts';

test('the version is the same in every file', () => {
  assert.deepEqual(wrongVersions(packageVersion()), []);
  assert.match(wrongVersions('9.9.9').join(), /python\/src\/contextrelay\/__init__\.py says/);
});

test('the release notes list what was not run, and the changelog of the version', () => {
  const other = PLATFORMS.find((platform) => !isOwn(platform))!;
  const ownPlatform = { ...other, name: 'own', node: `${process.platform}-${process.arch}` as const };
  const text = notes(
    '0.1.0',
    [
      { platform: ownPlatform, size: 120e6, archive: 30e6 },
      { platform: other, size: 150e6, archive: 34e6 },
    ],
    ['No rpm is made: rpmbuild is not installed.'],
  );
  assert.match(text, /^No rpm is made: rpmbuild is not installed\.$/m);
  assert.match(text, /\| own \| 120 MB \| 30 MB \| yes \|/);
  assert.match(text, /\| 150 MB \| 34 MB \| not run: /);
  assert.match(text, /The first version: agents hand each other a pointer/);
  assert.ok(!text.includes('0.2.0'));
});

test('a missing tool is reported before anything is built', () => {
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

test('a formula contains the checksum of each archive, and is not built without them', () => {
  const names = ['macos-x64', 'linux-arm64', 'linux-x64'];
  const sums = new Map(names.map((name) => [`contextrelay-1.0.0-${name}.tar.xz`, 'aaaa']));
  assert.throws(() => formula('1.0.0', 'https://example', sums), /needs contextrelay-1\.0\.0-macos-arm64/);
  sums.set('contextrelay-1.0.0-macos-arm64.tar.xz', 'bbbb');
  assert.match(formula('1.0.0', 'https://example', sums), /macos-arm64\.tar\.xz"\n {6}sha256 "bbbb"/);
});

test('the platform of an executable is read from its header', () => {
  const elf = Buffer.alloc(64);
  elf.write('\x7fELF', 'latin1');
  elf.writeUInt16LE(0xb7, 18);
  assert.equal(executableFormat(elf), 'linux-arm64');
  const mach = Buffer.alloc(64);
  mach.writeUInt32LE(0xfeedfacf, 0);
  mach.writeUInt32LE(0x01000007, 4);
  assert.equal(executableFormat(mach), 'darwin-x64');
  const pe = Buffer.alloc(128);
  pe.write('MZ', 'latin1');
  pe.writeUInt32LE(64, 0x3c);
  pe.write('PE\0\0', 64, 'latin1');
  pe.writeUInt16LE(0x8664, 68);
  assert.equal(executableFormat(pe), 'win32-x64');
  assert.equal(executableFormat(Buffer.from('#!/bin/sh\n'.padEnd(64))), 'no known platform');
});
