import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PEEK_TOOL, PULL_TOOL, PUSH_TOOL } from '../../src/sdk/context-tools.ts';

test('the types of the Python package follow the schemas of the API', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/python-types.ts', '--check'], {
    cwd: `${import.meta.dirname}/../..`,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
});

// The description of `pull_context` is not compared: the Python server has no budget for a pull.
test('the Python MCP server describes its tools as src/sdk/context-tools.ts does', () => {
  const file = `${import.meta.dirname}/../../python/src/contextrelay/mcp.py`;
  const joined = readFileSync(file, 'utf8').replace(/"\s*\n\s*"/g, '');
  const texts = [PUSH_TOOL, PULL_TOOL].flatMap(({ input }) => Object.values(input));
  const missing = [PUSH_TOOL.description, PEEK_TOOL.description, ...texts].filter(
    (text) => !joined.includes(`"${text}"`),
  );
  assert.deepEqual(missing, []);
});
