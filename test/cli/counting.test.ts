import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relay, temporaryHome } from './program.ts';

/** Module hook that makes a process fail if it loads the tokenizer package. */
const REFUSE = `import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  if (name.startsWith('gpt-tokenizer')) throw new Error(name + ' is loaded');
  return next(name, context);
} });`;
const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(REFUSE)}`;

test('commands count without loading a tokenizer', async () => {
  using at = temporaryHome();
  const { stdout } = await relay(['thread', 'new'], at);
  const thread = ['--thread', stdout.trim()];
  // In a new clone, the first run builds the token table, which loads the tokenizer. So the test checks later runs.
  assert.equal((await relay(['artifact', 'put', '-', ...thread], { ...at, stdin: 'the first' })).code, 0);
  for (const args of [
    ['artifact', 'put', '-', ...thread],
    ['state', 'header', ...thread],
    ['push', '-'],
  ]) {
    const { code, stderr } = await relay(args, { ...at, stdin: 'hello, agent', env: { NODE_OPTIONS } });
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
  }
});
