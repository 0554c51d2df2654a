import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { routeOf, verbs } from '../../contract/verb.ts';
import { OPERATIONS, schemasOf } from './operations.ts';

interface Shape {
  readonly name: string;
  readonly tags?: readonly string[];
  readonly at: { readonly seq: number } | null;
  readonly cursors: { readonly [channel: string]: number };
}

const verb = verbs({ scope: 'pull', args: ['id'] });

const things = {
  get: verb<(id: string, o?: { limit?: number }) => Promise<Shape>>('things.get')({
    summary: 'A thing',
    route: 'GET /things/:id',
  }),
};

const input = z.object({ id: z.string(), limit: z.number().optional() });
const at = z.object({ seq: z.number() }).nullable();
const cursors = z.record(z.string(), z.number());
const output = z.object({ name: z.string(), tags: z.array(z.string()).optional(), at, cursors });

const otherAt = z.object({ seq: z.string() }).nullable();
const otherCursors = z.record(z.string(), z.string());

test('the compiler checks that a schema and its type have the same fields, in both directions', () => {
  const declare = schemasOf<{ readonly things: typeof things }>();
  assert.ok(declare({ things: { get: { input, output } } }));
  // @ts-expect-error an optional field of the type is missing
  declare({ things: { get: { input, output: output.omit({ tags: true }) } } });
  // @ts-expect-error an optional field that the type does not have
  declare({ things: { get: { input, output: output.extend({ more: z.string().optional() }) } } });
  // @ts-expect-error optional on one side only
  declare({ things: { get: { input, output: output.extend({ tags: z.array(z.string()) }) } } });
  // @ts-expect-error a nested field has another type
  declare({ things: { get: { input, output: output.extend({ at: otherAt }) } } });
  // @ts-expect-error nullable on one side only
  declare({ things: { get: { input, output: output.extend({ at: z.object({ seq: z.number() }) }) } } });
  // @ts-expect-error the values of a record have another type
  declare({ things: { get: { input, output: output.extend({ cursors: otherCursors }) } } });
  // @ts-expect-error an input that the method does not take
  declare({ things: { get: { input: input.extend({ all: z.boolean().optional() }), output } } });
  // @ts-expect-error an input of the method is missing
  declare({ things: { get: { input: input.omit({ limit: true }), output } } });
  // @ts-expect-error a verb without schemas
  declare({ things: {} });
});

test('every field that a verb mentions exists in its input schema', () => {
  for (const { verb, input } of OPERATIONS) {
    const named = [
      ...[...routeOf(verb).path.matchAll(/:(\w+)/g)].map((match) => match[1]!),
      // Omit the bundle of an import: it is the request body itself, so the schema has no field for it.
      ...verb.args.filter((field) => field !== 'bundle'),
      ...Object.keys(verb.headers ?? {}),
      ...(verb.query ?? []),
      ...(verb.raw ?? []),
      ...(verb.body === undefined ? [] : [verb.body]),
    ];
    for (const field of named) assert.ok(field in input.shape, `${verb.name}: ${field}`);
  }
});
