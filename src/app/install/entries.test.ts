import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addEntries,
  type Entry,
  isOurServer,
  Occupied,
  ourHook,
  presentContainers,
  removeEntries,
} from './entries.ts';

const hook = (command: string) => ({ type: 'command', command, timeout: 10 });
const HOOKS: Entry = {
  kind: 'hooks',
  client: 'claude',
  events: { SessionStart: hook('relay hook claude session-start'), Stop: hook('relay hook claude stop') },
};
const SERVER: Entry = {
  kind: 'mcp',
  path: ['mcpServers', 'relay'],
  value: { command: 'relay', args: ['mcp'] },
};
const BOTH = [HOOKS, SERVER];
const add = (text: string, entries: readonly Entry[] = BOTH, comments = true) =>
  addEntries(text, entries, comments);

const OTHERS = `{
\t// mine
\t"model": "x",
\t"hooks": {
\t\t"Stop": [{ "matcher": "", "hooks": [{ "type": "command", "command": "say done" }] }],
\t\t"PreToolUse": []
\t},
\t"mcpServers": { "files": { "command": "npx", "args": ["files"] } }, // theirs
}
`;

test('ours is told from others by what it runs', () => {
  for (const command of [
    'relay hook claude stop',
    '/opt/x/relay hook claude session-start',
    '"/a b/node" "/a b/dist/cli/relay.js" hook claude stop',
    'C:\\x\\relay.cmd hook claude stop',
    'npx -y contextrelay hook claude stop',
    'unset BUN_BE_BUN; relay hook claude stop 2>/dev/null || exit 0',
    'unset BUN_BE_BUN; "/a b/node" "/a b/dist/cli/relay.js" hook claude stop 2>/dev/null || exit 0',
  ]) {
    assert.ok(ourHook(command, 'claude'), command);
  }
  for (const command of [
    'relay hook codex stop',
    'my-relay hook claude stop',
    'relay hook claude stop && x',
    'relay hook claude stop 2>/dev/null || x',
    'echo relay',
    7,
  ]) {
    assert.equal(ourHook(command, 'claude'), null, String(command));
  }
  assert.ok(
    isOurServer({ command: '/x/relay', args: ['mcp'] }) &&
      isOurServer({ type: 'local', command: ['relay', 'mcp'] }),
  );
  assert.ok(
    !isOurServer({ command: 'npx', args: ['relay-mcp'] }) &&
      !isOurServer({ command: 'relay', args: ['serve'] }),
  );
});

test('adding keeps what others wrote, adding again changes nothing, and removing gives the text back', () => {
  for (const text of [
    OTHERS,
    OTHERS.replaceAll('\n', '\r\n'),
    '{"a":1}',
    '{\n  "hooks": {},\n  "mcpServers": {}\n}',
    '{ }\n',
  ]) {
    const added = add(text);
    assert.equal(add(added), added);
    const keep = presentContainers(text, BOTH);
    const removed = removeEntries(added, BOTH, keep);
    // Empty braces with white space in them come back without it; a receipt brings back even that.
    assert.equal(removed.replace('{ }', '{}'), text.replace('{ }', '{}'));
  }
  const added = add(OTHERS);
  for (const line of OTHERS.split('\n').filter((row) => /mine|theirs|say done|model/.test(row))) {
    assert.ok(added.includes(line.trim().replace(/(?: \}| \}\]),? *(\/\/.*)?$/, '')), line);
  }
});

test('an old line of ours is brought up to date in its place, with what a person added to it', () => {
  const old = add('{"hooks":{}}', BOTH)
    .replaceAll('relay hook', '/old/relay hook')
    .replace('"timeout":10', '"timeout":10,"async":true');
  const fresh = add(old);
  assert.ok(!fresh.includes('/old/'));
  assert.ok(fresh.includes('"async":true'));
  assert.equal(fresh.match(/relay hook claude session-start/g)?.length, 1);
});

test('an event that we no longer use is cleared, others on it stay', () => {
  const text =
    '{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"relay hook claude pre-tool"},{"type":"command","command":"lint"}]}]}}';
  const value = JSON.parse(add(text, [HOOKS]));
  assert.deepEqual(value.hooks.PreToolUse, [{ hooks: [{ type: 'command', command: 'lint' }] }]);
});

test('what belongs to somebody else is never overwritten', () => {
  assert.throws(() => add('{"mcpServers":{"relay":{"command":"other"}}}'), Occupied);
  assert.throws(() => add('{"hooks":[]}'), Occupied);
  assert.throws(() => add('{"hooks":{"Stop":{}}}'), Occupied);
  assert.throws(() => add('[]'), Occupied);
  const foreign = '{"mcpServers":{"relay":{"command":"other"}}}';
  assert.equal(removeEntries(foreign, BOTH), foreign);
});

test('comments are a fault where the client does not take them', () => {
  assert.throws(() => add(OTHERS, BOTH, false), /line 2, column 2/);
});
