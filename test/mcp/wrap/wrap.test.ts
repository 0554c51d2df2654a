import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { relay } from '../../cli/program.ts';
import { until } from '../../until.ts';
import { ERAS, overStdio, textOf } from '../clients.ts';
import { digest, longText } from './fixture-server.ts';

const FIXTURE = join(import.meta.dirname, 'fixture-server.ts');
const home = mkdtempSync(join(tmpdir(), 'relay-wrap-'));
after(() => rmSync(home, { recursive: true, force: true }));

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly uri?: string;
}

/** Connects the official client to the fixture behind the proxy. */
async function wrapped(era: (typeof ERAS)[number], o: { args?: string[]; session?: string } = {}) {
  const env: Record<string, string> = o.session === undefined ? {} : { CLAUDE_CODE_SESSION_ID: o.session };
  const args = ['wrap', ...(o.args ?? []), '--', process.execPath, FIXTURE];
  const opened = await overStdio(home, era, { args, env });
  await opened.client.listTools();
  const result = async (name: string, values: Record<string, unknown>) =>
    (await opened.client.callTool({ name, arguments: values })) as unknown as {
      content: Block[];
      structuredContent?: Record<string, unknown>;
      isError?: boolean;
      _meta?: object;
    };
  return { ...opened, result, [Symbol.asyncDispose]: () => opened.client.close() };
}

const handleIn = (text: string) => /\[(relay:\d+) · /.exec(text)?.[1] ?? '';

for (const era of ERAS)
  describe(`relay mcp wrap with a client of ${era}`, () => {
    let server: Awaited<ReturnType<typeof wrapped>>;
    before(async () => {
      server = await wrapped(era, { session: 'one' });
    });
    after(() => server[Symbol.asyncDispose]());

    test('a long result is replaced by an excerpt, and everything else of it stays', async () => {
      const { content, _meta, isError } = await server.result('read', { lines: 4_000 });
      const [first, image, link] = content;
      assert.match(first!.text!, /2001 not ok 1 - Error: the pipe is closed/);
      assert.match(first!.text!, /4,000 lines · [\d,]+ tokens · pull_context url="relay:\d+"/);
      assert.ok(first!.text!.length < 6_000);
      assert.equal(image!.type, 'image');
      assert.deepEqual(
        [link!.type, link!.uri],
        ['resource_link', `relay://pointer/${handleIn(first!.text!)}`],
      );
      assert.deepEqual({ ...(_meta as object) }, { ..._meta, kept: 'yes' });
      assert.equal(isError, undefined);
      const part = { url: handleIn(first!.text!), part: 'lines=2000-2001' };
      assert.equal(
        await server.call('pull_context', part),
        longText(4_000).split('\n').slice(1_999, 2_001).join('\n'),
      );
    });

    test('a result that fits passes unchanged', async () => {
      assert.equal(await server.call('read', { lines: 20 }), longText(20));
    });

    test('a failed call stays a failure', async () => {
      const { isError, content } = await server.result('fail', { lines: 4_000 });
      assert.equal(isError, true);
      assert.match(content[0]!.text!, /Error: the pipe is closed/);
    });

    test('structured content keeps its schema and has the same excerpt', async () => {
      const typed = await server.result('typed', { lines: 4_000 });
      assert.equal(typed.structuredContent!.content, textOf(typed));
      assert.match(textOf(typed), /Error: the pipe is closed/);
      const rows = await server.result('rows', { lines: 4_000 });
      assert.equal(rows.structuredContent!.relay, textOf(rows));
      assert.equal((rows.structuredContent!.rows as unknown[]).length, 3);
    });

    test('structured content that cannot be shortened within its schema passes unchanged', async () => {
      const { structuredContent } = await server.result('numbers', { lines: 4_000 });
      assert.equal((structuredContent!.all as unknown[]).length, 4_000);
    });

    test('pull_context is added at the end of the tool list', async () => {
      const { tools } = await server.client.listTools();
      const names = tools.map(({ name }) => name);
      assert.deepEqual(names, [
        'read',
        'fail',
        'typed',
        'rows',
        'numbers',
        'digest',
        'quote',
        'pull_context',
      ]);
    });

    test('a handle of the same session that is a whole argument is replaced by its text', async () => {
      await using other = await wrapped(era, { session: 'one', args: ['--name', 'other'] });
      await using stranger = await wrapped(era, { session: 'two' });
      await using off = await wrapped(era, { session: 'one', args: ['--expand', 'off'] });
      const handle = handleIn(textOf(await server.result('read', { lines: 4_000 })));
      const digestOf = async (at: typeof server, args: object) =>
        JSON.parse(textOf(await at.result('digest', { ...args })));
      const whole = digest(longText(4_000));
      assert.equal((await digestOf(other, { text: handle })).text, whole);
      assert.deepEqual(
        await digestOf(other, { text: handle, short: handle }),
        { text: whole, short: handle },
        'the schema of the second argument does not accept the text',
      );
      assert.equal((await digestOf(stranger, { text: handle })).text, digest(handle));
      assert.equal((await digestOf(off, { text: handle })).text, digest(handle));
      assert.equal((await digestOf(other, { text: `see ${handle}` })).text, digest(`see ${handle}`));
      assert.equal((await digestOf(other, { text: 'relay:999999' })).text, digest('relay:999999'));
    });
  });

test('a handle that was pushed or teed, or that a server wrote, is not expanded', async () => {
  await using server = await wrapped('2025-11-25', { session: 'three' });
  const { stdout } = await relay(['push', '--json', '-'], { home, stdin: 'secret' });
  const { handle } = JSON.parse(stdout);
  assert.equal(await server.call('quote', { text: handle }), handle);
});

test('expansions are events with server and tool, and do not count as pulled by a model', async () => {
  await using server = await wrapped('2025-11-25', { session: 'four', args: ['--name', 'files'] });
  const handle = handleIn(textOf(await server.result('read', { lines: 5_000 })));
  await server.result('digest', { text: handle });
  const receipts = JSON.parse((await relay(['receipts', handle, '--json'], { home })).stdout);
  assert.match(JSON.stringify(receipts), /"by":"mcp files digest"/);
  const row = async () => {
    const { commands } = JSON.parse((await relay(['stats', '--tools', '--json'], { home })).stdout);
    return commands.find(({ command }: { command: string }) => command === 'mcp files read');
  };
  const before = await row();
  assert.equal(before.pulled, 0);
  assert.ok(before.kept_back > 10_000);
  await server.call('pull_context', { url: handle, part: 'lines=1-500' });
  // Poll, because statistics are written shortly after the answer.
  await until(async () => (await row()).pulled > 1_000);
});

test('the proxy ends with the exit code of its server, and says so if there is none', async () => {
  const ended = await relay(['mcp', 'wrap', '--', 'sh', '-c', 'exit 7'], { home });
  assert.equal(ended.code, 7);
  const missing = await relay(['mcp', 'wrap', '--', 'no-such-server'], { home });
  assert.notEqual(missing.code, 0);
  assert.match(missing.stderr, /no-such-server/);
});
