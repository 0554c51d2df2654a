import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../base/json.ts';
import { JsonSchema } from './json-schema.ts';

const SCHEMA: Json = {
  type: 'object',
  required: ['query'],
  additionalProperties: false,
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 10 },
    limit: { type: 'integer', minimum: 1, maximum: 50 },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true, maxItems: 2 },
    mode: { anyOf: [{ const: 'fast' }, { type: 'number' }] },
    tree: { $ref: '#/$defs/tree' },
  },
  $defs: {
    tree: { type: 'object', properties: { child: { $ref: '#/$defs/tree' } }, additionalProperties: false },
  },
};

describe('JsonSchema', () => {
  const schema = new JsonSchema(SCHEMA);

  it('accepts a valid value', () => {
    for (const value of [
      { query: 'x' },
      { query: '🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂', limit: 50, tags: ['a', 'b'], mode: 'fast' },
      { query: 'x', mode: 3, tree: { child: { child: {} } } },
    ] as Json[]) {
      assert.equal(schema.check(value), null);
    }
  });

  it('reports what is wrong, and where', () => {
    const cases: [Json, string][] = [
      [{}, '"query" is missing'],
      ['x', 'must be object, not string'],
      [{ query: 1 }, '/query must be string, not 1'],
      [{ query: '' }, '/query must not be empty'],
      [{ query: 'x', limit: 1.5 }, '/limit must be integer, not 1.5'],
      [{ query: 'x', limit: 51 }, '/limit must be at most 50'],
      [{ query: 'x', tags: ['a', 'c'] }, '/tags/1 must be one of "a", "b", not "c"'],
      [{ query: 'x', tags: ['a', 'a'] }, '/tags has an item twice'],
      [{ query: 'x', mode: 'slow' }, '/mode matches none of the alternatives'],
      [{ query: 'x', other: 1 }, 'does not allow "other"'],
      [{ query: 'x', tree: { child: { kid: 1 } } }, '/tree/child does not allow "kid"'],
    ];
    for (const [value, problem] of cases) assert.equal(schema.check(value), problem);
  });

  it('rejects a schema with unsupported keywords', () => {
    for (const bad of [
      { type: 'strnig' },
      { dependentRequired: {} },
      { properties: { a: { contains: true } } },
      { $ref: 'https://example.com/schema' },
      { pattern: '(' },
      'string',
    ] as Json[]) {
      assert.throws(() => new JsonSchema(bad));
    }
  });

  it('reports all problems, each with its path', () => {
    assert.deepEqual(schema.problems({ query: '', limit: 0, tags: ['c', 'c', 1], mode: null }), [
      { path: ['query'], what: 'must not be empty' },
      { path: ['limit'], what: 'must be at least 1' },
      { path: ['tags'], what: 'has more than 2 items' },
      { path: ['tags'], what: 'has an item twice' },
      { path: ['tags', 0], what: 'must be one of "a", "b", not "c"' },
      { path: ['tags', 1], what: 'must be one of "a", "b", not "c"' },
      { path: ['tags', 2], what: 'must be one of "a", "b", not 1' },
      { path: ['mode'], what: 'matches none of the alternatives' },
    ]);
  });

  it('supports conditions, and checks the given formats', () => {
    const choice = new JsonSchema(
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      { if: { type: 'string' }, then: { format: 'day' }, else: { minimum: 1 } },
      { formats: { day: (text) => /day$/.test(text) } },
    );
    assert.equal(choice.check('monday'), null);
    assert.equal(choice.check('march'), 'must be a day, not "march"');
    assert.equal(choice.check(0), 'must be at least 1');
  });

  it('terminates for a schema that refers to itself', () => {
    assert.match(new JsonSchema({ $ref: '#' }).check(1) ?? '', /without end/);
  });
});
