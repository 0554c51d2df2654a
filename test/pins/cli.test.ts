import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT } from '../../src/base/errors.ts';
import { GLOBAL_FLAGS } from '../../src/interfaces/cli/command.ts';
import { commandTree } from '../../src/interfaces/cli/commands/completion.ts';
import { ROOT } from '../../src/interfaces/cli/commands.ts';

/** Scripts and agents depend on these names. They are literals on purpose: a change here is a change for users. */

const COMMANDS: { [path: string]: string[] } = {
  up: ['port', 'host', 'open', 'detach'],
  down: ['force'],
  status: [],
  doctor: [],
  demo: [],
  push: ['encrypt', 'ttl', 'meta', 'name', 'channel', 'max-pulls', 'visibility', 'count', 'no-count'],
  pull: ['lines', 'grep', 'context', 'ignore-case', 'json-pointer', 'outline', 'cost', 'out', 'force'],
  peek: [],
  ls: ['channel', 'count', 'all'],
  renew: ['ttl'],
  rm: [],
  prune: [],
  du: [],
  backup: [],
  restore: ['force'],
  init: [],
  'thread new': ['name', 'ttl'],
  'thread use': [],
  'thread list': [],
  'thread rm': ['force'],
  runs: ['count', 'all'],
  show: ['thread'],
  tail: ['follow', 'count', 'all', 'thread'],
  'state header': ['thread'],
  'state get': ['thread', 'at'],
  'state patch': ['thread', 'json', 'if-match', 'output'],
  'state diff': ['thread', 'at'],
  'state log': ['thread', 'at', 'count', 'all'],
  'state compact': ['thread'],
  'state revert': ['thread', 'to', 'if-match'],
  'artifact put': ['thread', 'type', 'name', 'mime', 'source'],
  'artifact get': ['thread', 'out', 'preview', 'force'],
  'artifact list': ['thread', 'count', 'all'],
  'artifact search': ['thread', 'count'],
  'artifact rm': ['force', 'thread'],
  'cap list': [],
  'cap invoke': ['thread', 'json', 'output'],
  report: ['thread', 'format', 'out'],
  stats: ['thread', 'all'],
  export: ['thread', 'out'],
  import: ['legacy'],
  replay: ['thread'],
  run: ['thread', 'new', 'attach', 'system', 'dry-run', 'provider', 'model', 'base-url', 'cli', 'cache'],
  'wrap run': ['cli', 'thread', 'new', 'attach', 'system', 'dry-run', 'prompt-by'],
  'wrap list': [],
  'pipeline run': ['input', 'max-parallel', 'resume', 'run', 'only'],
  'pipeline validate': [],
  'pipeline graph': ['run', 'mermaid', 'text'],
  'pipeline list': ['limit'],
  'pipeline show': [],
  completion: [],
  version: [],
};

test('the commands of the first release keep their names and flags', async () => {
  const tree = new Map((await commandTree(ROOT)).map((node) => [node.path, Object.keys(node.flags)]));
  for (const [path, flags] of Object.entries(COMMANDS)) {
    assert.ok(tree.has(path), `relay ${path}`);
    for (const flag of flags) assert.ok(tree.get(path)!.includes(flag), `relay ${path} --${flag}`);
  }
});

test('every command understands the same global flags', () => {
  assert.deepEqual(Object.keys(GLOBAL_FLAGS), ['home', 'url', 'json', 'output', 'no-color', 'help']);
});

test('exit codes keep their meaning', () => {
  assert.deepEqual(EXIT, {
    ok: 0,
    failed: 1,
    usage: 2,
    notFound: 3,
    refused: 4,
    unreachable: 5,
    incomplete: 6,
  });
});
