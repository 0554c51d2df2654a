import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { startFakeModel } from '../../examples/fake-model.ts';
import { atTerminal, relay, temporaryHome } from '../cli/program.ts';

test('relay "words" creates a thread, streams the answer to stdout and prints the cost to stderr', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(
    ({ user }) => `I saw ${user.includes('fox.txt') ? 'the fox' : 'nothing'}.`,
  );
  writeFileSync(join(at.home, 'fox.txt'), 'The quick brown fox.\n'.repeat(3000));
  const first = await relay(['summarise this file', '--attach', 'fox.txt'], {
    home: at.home,
    env: model.env,
  });
  assert.equal(first.code, 0, first.stderr);
  assert.equal(first.stdout, 'I saw the fox.\n');
  assert.match(first.stderr, /[\d,]+ tokens instead of [\d,]+ pasted \(o200k_base\); billed \d+ in, \d+ out/);
  assert.match(first.stderr, /thread [0-9a-f-]{36}/);
  const result = await relay(['show'], { home: at.home });
  assert.ok(first.stderr.includes(result.stdout.match(/^thread_id +(\S+)/)![1]!));
  const next = await relay(['run', 'and?', '--json'], { home: at.home, env: model.env });
  const outcome = JSON.parse(next.stdout);
  assert.ok(first.stderr.includes(outcome.thread_id));
  assert.equal(outcome.text, 'I saw the fox.');
  assert.match(model.asked[1]!.user, /> summarise this file\nI saw the fox\./);
  assert.equal((await relay(['state', 'get', '--path', '/version'], { home: at.home })).stdout, '6\n');
  const { stdout: events } = await relay(['tail', '--json'], { home: at.home });
  assert.match(events, new RegExp(`"project":\\s*"${basename(at.home)}"`), 'for the costs of the project');
  const pinned = await relay(['run', 'what?', '--with', 'fox.txt', '--with', 'answer.md', '--dry-run'], {
    home: at.home,
  });
  assert.match(pinned.stdout, /"fox\.txt"[\s\S]*"answer\.md"[\s\S]*> and\?\nI saw the fox\./);
});

test('an answer that is cut, refused or empty is a warning with an exit code of its own', async () => {
  using at = temporaryHome();
  const replies = [{ text: 'and then', cut: true }, { text: 'I cannot', refused: true }, ''] as const;
  await using model = await startFakeModel(() => replies[model.asked.length - 1]!);
  const o = { home: at.home, env: model.env };
  for (const expected of [/was cut off at the token limit/, /refused to answer/, /is empty/]) {
    const { code, stderr } = await relay(['run', 'tell me'], o);
    assert.equal(code, 6);
    assert.match(stderr, expected);
  }
});

test('pulls of a model before its answer are printed with the cost, and stdout has only the answer', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(({ results }) =>
    results.length === 0
      ? { text: 'Let me look.', calls: [{ name: 'pull', arguments: { ref: 'list.txt', grep: 'item 2999' } }] }
      : { text: `It says ${/item 2999 is \w+/.exec(results[0]!)}.`, cached: 120 },
  );
  const items = Array.from({ length: 3000 }, (_, i) => `item ${i} is ${i === 2999 ? 'gold' : 'lead'}`);
  writeFileSync(join(at.home, 'list.txt'), items.join('\n'));
  const o = { home: at.home, env: model.env };
  const { code, stdout, stderr } = await relay(['the last thing?', '--attach', 'list.txt'], o);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'It says item 2999 is gold.\n');
  assert.match(stderr, /anthropic\/\S+ pulled \d+ tokens: pull list\.txt grep=item 2999/);
  assert.match(stderr, /billed [\d,]+ in \(120 cached\), \d+ out/);
  assert.match(
    stderr,
    /anthropic\/\S+ saw only [\d.]+ KiB of 51\.6 KiB of list\.txt, and pulled \d+ tokens\./,
  );
  const next = await relay(['run', 'the last thing?', '--no-tools', '--json'], o);
  assert.equal(model.asked.at(-1)!.tools.length, 0, next.stderr);
  const { prompts, billed } = JSON.parse((await relay(['stats', '--json'], o)).stdout);
  assert.deepEqual([prompts.prompts, prompts.tool_calls], [2, 1]);
  assert.equal(billed.cached_input_tokens, 120);
});

test('config.json sets the model, an environment variable overrides it, and a flag overrides both', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(() => 'yes');
  const config = { model_provider: 'anthropic', models: { anthropic: 'of-the-file' } };
  writeFileSync(join(at.home, 'config.json'), JSON.stringify(config));
  const env = { ...model.env, RELAY_MODEL: 'of-the-variable' };
  for (const o of [
    { env: model.env, args: [] },
    { env, args: [] },
    { env, args: ['--model', 'of-the-flag'] },
  ]) {
    const { code, stderr } = await relay(['run', 'which?', ...o.args], { home: at.home, env: o.env });
    assert.equal(code, 0, stderr);
  }
  assert.deepEqual(
    model.asked.map((request) => request.model),
    ['of-the-file', 'of-the-variable', 'of-the-flag'],
  );
});

test('--dry-run shows the whole prompt, sends no request and stores nothing', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(() => 'no');
  const o = { home: at.home, env: model.env };
  const { stdout, stderr, code } = await relay(['is it bounded?', '--dry-run'], o);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^system\nYou continue work/);
  assert.match(stdout, /is it bounded\?\n$/);
  assert.match(stderr, /tokens instead of/);
  assert.equal(model.asked.length, 0);
  assert.deepEqual(JSON.parse((await relay(['runs', '--json'], o)).stdout).threads, []);
});

test('without a key it says what to set and which programs are installed, and creates nothing', async () => {
  using at = temporaryHome();
  const bin = join(at.home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'gemini'), '#!/bin/sh\n');
  chmodSync(join(bin, 'gemini'), 0o755);
  const env = { PATH: `${bin}:/usr/bin:/bin` };
  const { code, stderr } = await relay(['hello there'], { home: at.home, env });
  assert.equal(code, 2);
  assert.match(stderr, /ANTHROPIC_API_KEY is not set/);
  assert.match(stderr, /--cli gemini/);
  assert.deepEqual(JSON.parse((await relay(['runs', '--json'], { home: at.home })).stdout).threads, []);
});

test('the last used thread is the default, unless another or a new one is named', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(() => 'ok');
  const threadOf = async (...args: string[]) => {
    const { stdout, stderr } = await relay(['run', 'go on', '--json', ...args], {
      home: at.home,
      env: model.env,
    });
    assert.notEqual(stdout, '', stderr);
    return JSON.parse(stdout).thread_id as string;
  };
  const first = await threadOf();
  assert.equal(await threadOf(), first);
  const second = await threadOf('--new');
  assert.notEqual(second, first);
  assert.equal(await threadOf(), second);
  assert.equal(await threadOf('--thread', first.slice(0, 8)), first);
  assert.equal(await threadOf(), first);
});

test('one word that is not a command stays an error with a suggestion', async () => {
  using at = temporaryHome();
  const slip = await relay(['psuh'], { home: at.home });
  assert.equal(slip.code, 2);
  assert.match(slip.stderr, /There is no command "relay psuh"/);
  assert.match(slip.stderr, /Did you mean: relay push/);
  const nested = await relay(['todo', 'buy milk'], { home: at.home });
  assert.equal(nested.code, 2);
  assert.match(nested.stderr, /There is no command "relay todo buy milk"/);
});

test('an answer cannot send escape codes to the terminal', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(() => 'look \u001b]0;owned\u0007 here');
  const { stdout } = await atTerminal('$relay "say it now"', { home: at.home, env: model.env });
  assert.ok(!stdout.includes('\u001b]0;owned'));
  assert.match(stdout, /look \\u001b\]0;owned/);
});

test('a rejected patch is reported, and the command still succeeds', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(
    () => 'ok\n```relay-patch\n[{"op":"remove","path":"/facts"}]\n```',
  );
  const { code, stderr } = await relay(['do it please'], { home: at.home, env: model.env });
  assert.equal(code, 0);
  assert.match(stderr, /was rejected: operation 0: "remove" is not allowed/);
});

test('a provider that refuses the request gives exit code 4, and the key is not printed', async () => {
  using at = temporaryHome();
  await using model = await startFakeModel(({ headers }) => ({
    status: 401,
    message: `bad key ${headers['x-api-key']}`,
  }));
  const { code, stderr } = await relay(['hello there'], { home: at.home, env: model.env });
  assert.equal(code, 4);
  assert.ok(!stderr.includes('fake-key-for-trying'));
});
