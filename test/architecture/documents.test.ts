import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const adrs = readdirSync(join(root, 'docs/adr')).map((name) => `docs/adr/${name}`);
const documents = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...adrs];

for (const name of documents) {
  const text = readFileSync(join(root, name), 'utf8');

  test(`every path that ${name} mentions exists`, () => {
    const pathPattern = /`((?:src|ui|test|bench|scripts|docs|examples|bin|skill|schemas)\/[\w./-]*\w)`/g;
    const paths = [...text.matchAll(pathPattern)].map((match) => match[1]!);
    const missing = paths.filter((path) => !existsSync(join(root, path)));
    assert.deepEqual(missing, []);
  });

  test(`every link in ${name} has a target`, () => {
    const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map((match) => match[1]!);
    const missing = links.filter((link) => !existsSync(join(root, name, '..', link)));
    assert.deepEqual(missing, []);
  });
}

test('decisions are numbered without a gap', () => {
  const numbers = adrs.map((path) => Number(/\/(\d{4})-/.exec(path)?.[1])).sort((a, b) => a - b);
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => i + 1),
  );
});
