import assert from 'node:assert/strict';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import type { Json, JsonObject } from '../../../src/base/json.ts';
import { Interceptor, type InterceptorHost } from '../../../src/interfaces/mcp/wrap/interceptor.ts';

let seed = 42;
function random(below: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * below);
}
const pick = <T>(items: readonly T[]): T => items[random(items.length)]!;
const randomWords = (count: number) =>
  Array.from({ length: count }, () => pick(['error', 'ok', 'naïve', '日本', '"x"', '\n'])).join(' ');

/** Returns a random schema and a value that matches it. `leaf` makes strings. */
function randomPair(depth: number, leaf: () => string): { schema: JsonObject; value: Json } {
  const kinds = depth > 0 ? ['string', 'number', 'array', 'object', 'object'] : ['string', 'number', 'null'];
  switch (pick(kinds)) {
    case 'object':
      return randomObject(depth, leaf);
    case 'array': {
      const item = randomPair(depth - 1, leaf);
      const value = Array.from({ length: random(40) }, () => structuredClone(item.value));
      const bounds = pick<JsonObject>([
        {},
        {},
        { minItems: Math.min(value.length, 2) },
        { maxItems: value.length },
      ]);
      return { schema: { type: 'array', items: item.schema, ...bounds }, value };
    }
    case 'string': {
      const value = leaf();
      const bounds = pick<JsonObject>([
        {},
        {},
        {},
        { maxLength: Math.max(1, [...value].length) },
        { enum: [value, 'other'] },
        { pattern: '^[\\s\\S]*$' },
        { contentMediaType: 'text/plain' },
      ]);
      return { schema: { type: 'string', ...bounds }, value };
    }
    case 'number':
      return { schema: { type: 'number' }, value: random(1_000) };
    default:
      return { schema: { type: ['null', 'string'] }, value: null };
  }
}

function randomObject(depth: number, leaf: () => string): { schema: JsonObject; value: JsonObject } {
  const members = Array.from(
    { length: 1 + random(4) },
    (_, i) => [`m${i}`, randomPair(depth - 1, leaf)] as const,
  );
  const properties = Object.fromEntries(members.map(([name, { schema }]) => [name, schema]));
  const value = Object.fromEntries(members.map(([name, pair]) => [name, pair.value]));
  const more = pick<JsonObject>([
    {},
    { additionalProperties: false },
    { additionalProperties: { type: 'number' } },
  ]);
  const required = Object.keys(properties).filter(() => random(2) === 0);
  return { schema: { type: 'object', properties, required, ...more }, value };
}

const WHOLE = randomWords(900);

function host(): InterceptorHost & { stored: string[] } {
  const stored: string[] = [];
  return {
    stored,
    budget: 200,
    expands: true,
    counter: {
      count: async (text) => ({ tokens: Math.ceil(text.length / 4), tokenizer: 'test', estimated: true }),
    },
    pullTool: { name: 'pull_context' },
    pull: async () => ({ content: [] }),
    lastLine: (handle) =>
      `[${handle} · 9 lines · 9 tokens · relay pull 7 --lines 1-2 | --grep PATTERN | --outline]`,
    store: async (text) => `relay:${stored.push(text)}`,
    read: async (handle) => (handle === 'relay:7' ? WHOLE : null),
    warn: (what) => assert.fail(what),
  };
}

const validators = new AjvJsonSchemaValidator();
const checkerOf = (schema: JsonObject) => {
  const check = validators.getValidator(schema as never);
  return (value: Json) => check(value).valid;
};

/**
 * Checks with random schemas that a result still matches its schema after handles have replaced its texts, and that
 * arguments still match their schema after handles were expanded. Also checks that no text is lost.
 */
export async function checkRandomSchemas(rounds: number): Promise<void> {
  let [replaced, expanded] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    const output = randomObject(3, () => (random(4) === 0 ? randomWords(random(300)) : randomWords(3)));
    const input = randomObject(3, () => pick(['relay:7', 'relay:8', 'see relay:7', 'text']));
    const [isOutput, isInput] = [checkerOf(output.schema), checkerOf(input.schema)];
    assert.ok(isOutput(output.value) && isInput(input.value));
    const ownHost = host();
    const proxy = new Interceptor('test', ownHost);
    const tool = { name: 'tool', inputSchema: input.schema, outputSchema: output.schema };
    await proxy.fromClient(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
    await proxy.fromServer(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [tool] } }));

    const params = { name: 'tool', arguments: input.value };
    const call = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
    const forwardedCall = await proxy.fromClient(call);
    assert.ok('forward' in forwardedCall);
    const args = JSON.parse(forwardedCall.forward).params.arguments;
    assert.ok(isInput(args), JSON.stringify(input.schema));
    const shrunk = JSON.stringify(args).replaceAll(JSON.stringify(WHOLE), '"relay:7"');
    assert.equal(shrunk, JSON.stringify(input.value));
    if (forwardedCall.forward !== call) expanded++;

    const texts = pick<string[]>([
      [JSON.stringify(output.value)],
      [randomWords(400)],
      [randomWords(5), randomWords(400)],
      [],
    ]);
    const content = texts.map((text) => ({ type: 'text', text }));
    const result = { content, structuredContent: output.value, _meta: { kept: 1 } };
    const answer = JSON.stringify({ jsonrpc: '2.0', id: 2, result });
    const forwarded = await proxy.fromServer(answer);
    if (forwarded === answer) continue;
    replaced++;
    const { content: blocks, structuredContent, _meta } = JSON.parse(forwarded).result;
    assert.ok(isOutput(structuredContent), JSON.stringify(output.schema));
    assert.deepEqual(_meta, { kept: 1 });
    assert.match(blocks[0].text, /\[relay:1 · /);
    assert.ok(forwarded.length < answer.length + 1_500);
    for (const text of texts) assert.ok(ownHost.stored[0]!.includes(text));
    const storedText = JSON.stringify(structuredContent) + ownHost.stored[0];
    for (const text of JSON.stringify(output.value).match(/\w{4,}/g) ?? [])
      assert.ok(storedText.includes(text));
  }
  assert.ok(replaced > rounds / 8 && expanded > rounds / 8, `${replaced} replaced, ${expanded} expanded`);
}
