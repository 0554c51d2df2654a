import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { shellWord } from './format.ts';

test('a shell parses a quoted word back to the original text', { skip: process.platform === 'win32' }, () => {
  for (const text of ['/srv/ada/.relay', "/srv/o'hara/my relay", `a "b" $HOME \`id\` 'c'`, '', '-', 'C:x']) {
    assert.equal(execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' }), text);
  }
  assert.equal(shellWord('/srv/ada/.relay'), '/srv/ada/.relay');
  assert.equal(shellWord('C:\\Users\\ada'), 'C:\\Users\\ada');
});
