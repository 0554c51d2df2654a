import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from './json.ts';
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

  it('lets pass what fits', () => {
    for (const value of [
      { query: 'x' },
      { query: '🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂', limit: 50, tags: ['a', 'b'], mode: 'fast' },
      { query: 'x', mode: 3, tree: { child: { child: {} } } },
    ] as Json[]) {
      assert.equal(schema.check(value), null);
    }
  });

  it('says what does not fit, and where', () => {
    const cases: [Json, string][] = [
      [{}, '"query" is missing'],
      ['x', 'must be object'],
      [{ query: 1 }, '/query must be string'],
      [{ query: '' }, '/query must have at least 1 characters'],
      [{ query: 'x', limit: 1.5 }, '/limit must be integer'],
      [{ query: 'x', limit: 51 }, '/limit must be at most 50'],
      [{ query: 'x', tags: ['a', 'c'] }, '/tags/1 must be one of "a", "b"'],
      [{ query: 'x', tags: ['a', 'a'] }, '/tags has an item twice'],
      [{ query: 'x', mode: 'slow' }, '/mode fits none of the alternatives'],
      [{ query: 'x', other: 1 }, 'does not take "other"'],
      [{ query: 'x', tree: { child: { kid: 1 } } }, '/tree/child does not take "kid"'],
    ];
    for (const [value, problem] of cases) assert.equal(schema.check(value), problem);
  });

  it('refuses a schema that says more than it understands', () => {
    for (const bad of [
      { type: 'strnig' },
      { dependentRequired: {} },
      { properties: { a: { if: true } } },
      { $ref: 'https://example.com/schema' },
      { pattern: '(' },
      'string',
    ] as Json[]) {
      assert.throws(() => new JsonSchema(bad));
    }
  });

  it('comes to an end where a schema refers to itself', () => {
    assert.match(new JsonSchema({ $ref: '#' }).check(1) ?? '', /without end/);
  });
});
