import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { relay, temporaryHome } from '../cli/program.ts';
import { overStdio } from '../mcp/clients.ts';

const many = <T>(length: number, make: (i: number) => T): T[] => Array.from({ length }, (_, i) => make(i));
const add = (list: string, value: object) => ({ op: 'add', path: `/${list}/-`, value });

/** 25 items of ordinary length. A reader must see the text of each item; LINES contains these texts. */
const ITEMS = [
  ...many(6, (i) => ({ list: 'facts', key: `latency of region ${i}`, value: `2.${i} seconds at p99` })),
  ...many(5, (i) => ({ list: 'constraints', description: `Never deploy service ${i} on a Friday.` })),
  { list: 'constraints', description: 'NEVER drop the production database.', severity: 'hard' },
  ...many(5, (i) => ({ list: 'open_questions', question: `Who approves the change of budget ${i}?` })),
  ...many(4, (i) => ({ list: 'decisions', description: `The queue of service ${i} stays in SQLite.` })),
  { list: 'plan', step: 'Measure the queue again.', status: 'in_progress' },
  ...many(3, (i) => ({ list: 'plan', step: `Publish report ${i}.`, ...(i === 0 ? { status: 'next' } : {}) })),
];
const LINES = ITEMS.map((item) => {
  const { key, value, description, question, step } = item as { [field: string]: string | undefined };
  return key ? `${key}: ${value}` : (description ?? question ?? step)!;
});

test('a state with 25 items reaches every text surface whole, and 300 more facts displace only facts', async () => {
  using at = temporaryHome();
  const { home } = at;
  const stdoutOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await relay(args, { home });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const patch = async (ops: object[]) => {
    writeFileSync(join(home, 'ops.json'), JSON.stringify(ops));
    await stdoutOf('state', 'patch', 'ops.json');
  };
  const { thread_id } = JSON.parse(await stdoutOf('thread', 'new', 'work', '--json'));
  await patch(ITEMS.map(({ list, ...item }, i) => add(list, { id: `i${i}`, ...item })));
  const ask = ['What is the value of setting 7 now?'];
  await using mcp = await overStdio(home, '2026-07-28');
  const prompt = await stdoutOf('run', ...ask, '--dry-run');
  const surfaces = {
    'state header': await stdoutOf('state', 'header', '--text'),
    thread_header: await mcp.call('thread_header', { thread_id }),
    run: prompt,
    wrap: await stdoutOf('wrap', 'run', '--cli', 'cat', ...ask, '--dry-run'),
  };
  for (const [name, text] of Object.entries(surfaces))
    for (const line of LINES) assert.ok(text.includes(line), `${name}: ${line}`);
  await patch(
    many(300, (i) => add('facts', { id: `m${i}`, key: `setting ${i}`, value: `measured ${i} times` })),
  );
  const after = await stdoutOf('run', ...ask, '--dry-run');
  assert.ok(after.length <= prompt.length + 1000, `${prompt.length} to ${after.length} characters`);
  for (const line of LINES.slice(6)) assert.ok(after.includes(line), line);
  assert.match(after, /setting 7: measured 7 times/);
  const few = await mcp.call('thread_header', { thread_id, question: ask[0], tokens: 200 });
  assert.match(few, /NEVER drop[\s\S]+setting 7: measured 7 times/);
  assert.ok(few.length < 1000, few);
  assert.match(after, /Not shown: \d+ facts\. Use search, or pull a list\./);
});
