import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, mock, test } from 'node:test';
import TABLE from '../../test/integrations/large-results.json' with { type: 'json' };
import { pointerIn, type Scene, startScene } from '../../test/integrations/scene.ts';
import { ContextRelay } from '../sdk/context-relay.ts';
import { KeptPointers } from './kept-pointers.ts';
import { type LargeResultOptions, LargeResults } from './large-results.ts';

interface Lines {
  readonly lines?: number;
  readonly of?: string;
  readonly image?: boolean;
}

interface Case {
  readonly name: string;
  readonly tool?: string;
  readonly options?: {
    readonly max_bytes?: number;
    readonly except_tools?: readonly string[];
    readonly [option: string]: unknown;
  };
  readonly result?: Lines;
  readonly blocks?: readonly Lines[];
  readonly stays?: boolean;
  readonly becomes?: readonly string[];
  readonly stored?: readonly number[];
  readonly first?: string;
  readonly last?: string;
  readonly contains?: readonly string[];
  readonly lacks?: readonly string[];
  readonly metadata?: object;
  readonly lives?: number;
  readonly channel?: string;
  readonly encrypted?: boolean;
}

const text = ({ lines = 0, of = 'line' }: Lines) =>
  Array.from({ length: lines }, (_, i) => (of === 'line' ? `line ${i}` : of)).join('\n');

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const optionsOf = ({ options: { max_bytes, except_tools, ...more } = {} }: Case): LargeResultOptions => ({
  ...more,
  ...(max_bytes === undefined ? {} : { maxBytes: max_bytes }),
  ...(except_tools === undefined ? {} : { except: except_tools }),
});

for (const each of TABLE.cases as readonly Case[]) {
  test(`large results: ${each.name}`, async () => {
    const results = new LargeResults(scene.relay, optionsOf(each));
    const tool = each.tool ?? 'tool';
    if (each.blocks) return assertBlocks(each, results, tool);
    const input = text(each.result!);
    const output = await results.replaceText(input, tool);
    if (each.stays) return assert.equal(output, input);
    const url = pointerIn(output);
    const rows = output.split('\n');
    if (each.first) assert.equal(rows[0], each.first.replace('{url}', url));
    if (each.last) assert.equal(rows.at(-1), each.last);
    for (const part of each.contains ?? [])
      assert.ok(output.includes(part), `${part} is missing in ${output}`);
    for (const part of each.lacks ?? []) assert.ok(!output.includes(part), `${part} is in ${output}`);
    assert.equal(await scene.relay.pull(url), input);
    assert.equal(url.includes('#key='), each.encrypted === true);
    const found = await scene.relay.inspect(url);
    if (each.metadata) assert.deepEqual(found.metadata, each.metadata);
    if (each.channel) assert.equal(found.channel, each.channel);
    const left = (Date.parse(found.expires_at!) - Date.now()) / 1000;
    if (each.lives) assert.ok(left <= each.lives && left > each.lives - 600, `${left} s`);
  });
}

async function assertBlocks(each: Case, results: LargeResults, tool: string): Promise<void> {
  const blocks = each.blocks!.map((block) =>
    block.image ? { type: 'image', data: 'AAAA' } : { type: 'text', text: text(block) },
  );
  const output = await results.replaceBlocks(blocks, tool);
  const kinds = output.map((block) => {
    if (block.type !== 'text') return 'image';
    return String(block.text).startsWith('Too large to show') ? 'replacement' : 'text';
  });
  assert.deepEqual(kinds, each.becomes);
  if (!kinds.includes('replacement')) return assert.equal(output, blocks);
  const stored = await scene.relay.pull(pointerIn(String(output[0]!.text)));
  assert.equal(stored, each.stored!.map((lines) => text({ lines })).join('\n'));
}

test('a relay that accepts and never answers delays a step by 5 s once, and is then left alone for a minute', async () => {
  let connections = 0;
  const server = createServer(() => connections++).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { port } = server.address() as { port: number };
    const errors: string[] = [];
    const results = new LargeResults(new ContextRelay(`http://127.0.0.1:${port}`), {
      onError: (error) => errors.push(String(error)),
    });
    const large = text({ lines: 3000 });
    const first = results.replaceText(large, 'search');
    while (connections === 0) await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(5_000);
    assert.equal(await first, large);
    assert.equal(await results.replaceText(large, 'search'), large);
    assert.deepEqual([connections, errors.length], [1, 1]);
    assert.match(errors[0]!, /did not answer within 5 s/);
    const pointers = new KeptPointers(new ContextRelay(`http://127.0.0.1:${port}`));
    const warned = mock.method(console, 'warn', () => {});
    const keeping = pointers.keep('http://127.0.0.1/pull/00000000-0000-4000-8000-000000000000');
    while (connections === 1) await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(5_000);
    await keeping;
    assert.equal(warned.mock.callCount(), 1);
  } finally {
    mock.timers.reset();
    server.close();
    server.unref();
  }
});
