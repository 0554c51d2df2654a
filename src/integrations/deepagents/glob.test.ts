import assert from 'node:assert/strict';
import { test } from 'node:test';
import { globMatcher } from './glob.ts';

const CASES: [glob: string, matching: string[], others: string[]][] = [
  ['*.md', ['a.md', '.md'], ['a.txt', 'b/a.md']],
  ['**/*.md', ['a.md', 'b/a.md', 'b/c/a.md'], ['a.mdx']],
  ['src/**', ['src/a', 'src/b/c.ts'], ['a', 'srca']],
  ['src/**/test/*.ts', ['src/test/a.ts', 'src/b/c/test/a.ts'], ['src/test/b/a.ts']],
  ['**/a/**/b', ['a/b', 'x/a/y/z/b'], ['ab', 'a/bc']],
  ['?.{md,txt}', ['a.md', 'b.txt'], ['ab.md', 'a.ts']],
  ['[a-c]*[!0-9]', ['ab', 'c1x'], ['d1', 'a1']],
  ['a.b', ['a.b'], ['axb']],
  ['(x+', ['(x+'], ['x']],
];

for (const [glob, matching, others] of CASES) {
  test(`${glob} matches the expected paths`, () => {
    const isMatch = globMatcher(glob);
    assert.deepEqual([...matching, ...others].filter(isMatch), matching);
  });
}

test('every pattern is matched in a short time', () => {
  assert.ok(!globMatcher(`${'*a'.repeat(200)}b`)('a'.repeat(1000)));
  assert.ok(!globMatcher(`${'**/'.repeat(50)}b`)('a/'.repeat(300)));
  assert.ok(!globMatcher('{a,b}'.repeat(40))('c'));
});
