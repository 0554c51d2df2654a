import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { costTable } from '../../scripts/cloudflare/cost.ts';
import { GENERATED } from '../../scripts/docs/generated.ts';
import { OPTIONS, type Option } from '../../src/app/options.ts';
import { VARIABLES } from '../../src/app/variables.ts';
import { PROVIDERS } from '../../src/client/prompts/providers.ts';
import { projectFiles } from '../architecture/project-files.ts';
import { isCode, isTest } from '../architecture/source-file.ts';

const root = join(import.meta.dirname, '../..');

describe('a generated page is up to date with its sources', () => {
  for (const [path, page] of Object.entries(GENERATED))
    test(path, () =>
      assert.equal(readFileSync(join(root, path), 'utf8'), page(), 'make it anew: npm run docs'),
    );
});

test('the Cloudflare cost table in docs/scaling.md is up to date with its figures', () => {
  const page = readFileSync(join(root, 'docs/scaling.md'), 'utf8');
  assert.ok(page.includes(costTable()), 'node scripts/cloudflare/cost.ts prints the table');
});

/** Variables that the system, coding agents or our own processes set. The documentation need not name them. */
const NOT_OURS = [
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'HOME',
  'PATH',
  'TERM',
  'STORE',
  'BODIES',
  // Coding agents set these for the commands that they run.
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_SESSION_ID',
  'GEMINI_SESSION_ID',
];

test('the two tables list exactly the environment variables that the sources read', () => {
  const files = projectFiles(['src']).filter(({ path }) => isCode(path) && !isTest(path));
  const readNames = files.flatMap(({ text }) =>
    [...text.matchAll(/\benv\.([A-Z][A-Z0-9_]+)|\bvariable\('([A-Z_]+)'\)/g)].map(([, a, b]) => (a ?? b)!),
  );
  for (const { key, baseKey } of Object.values(PROVIDERS)) readNames.push(baseKey, ...(key ? [key] : []));
  const ofOptions = Object.values<Option>(OPTIONS).flatMap(({ env }) => env ?? []);
  const documented = VARIABLES.map(({ name }) => name);
  const allowedNames = new Set([...documented, ...ofOptions, ...NOT_OURS]);
  assert.ok(readNames.length > 30, 'the sources were found');
  assert.deepEqual(
    [...new Set(readNames)].filter((name) => !allowedNames.has(name)),
    [],
  );
  assert.deepEqual(
    documented.filter((name) => !readNames.includes(name)),
    [],
  );
});
