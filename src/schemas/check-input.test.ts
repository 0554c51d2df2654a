import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { OPERATIONS } from '../interfaces/http/operations.ts';
import { checkInput } from './check-input.ts';

const SCHEMA = z.strictObject({
  name: z.string().min(1),
  limit: z.number().int().min(1).max(100).optional(),
  kind: z.enum(['a', 'b']).optional(),
  list: z.array(z.string()).max(2).optional(),
  id: z.uuid().optional(),
});

const wrong = (value: unknown): string => {
  const found = checkInput(SCHEMA, value);
  return 'wrong' in found ? found.wrong : assert.fail('it was taken');
};

test('an input error names the field and says what is wrong', () => {
  assert.equal(wrong({}), '"name" is missing.');
  assert.equal(wrong({ name: 7 }), '"name" must be a text.');
  assert.equal(wrong({ name: '' }), '"name" must not be empty.');
  assert.equal(wrong({ name: 'n', limit: 0 }), '"limit" must be at least 1.');
  assert.equal(wrong({ name: 'n', limit: 101 }), '"limit" must be at most 100.');
  assert.equal(wrong({ name: 'n', limit: 1.5 }), '"limit" must be a whole number.');
  assert.equal(wrong({ name: 'n', kind: 'c' }), '"kind" must be one of a, b.');
  assert.equal(wrong({ name: 'n', list: ['x', 1] }), '"list/1" must be a text.');
  assert.equal(wrong({ name: 'n', list: ['x', 'y', 'z'] }), '"list" must have at most 2 entries.');
  assert.equal(wrong({ name: 'n', id: 'x' }), '"id" must be a UUID.');
  assert.equal(wrong('text'), 'The input must be an object.');
});

test('an error for an unknown field suggests a similar field or lists all fields', () => {
  assert.equal(wrong({ name: 'n', limt: 1 }), 'There is no field "limt". Did you mean "limit"?');
  assert.equal(
    wrong({ name: 'n', zzz: 1 }),
    'There is no field "zzz". Known fields: name, limit, kind, list, id.',
  );
  assert.ok(wrong({ name: 'n', ['x'.repeat(1e6)]: 1 }).length < 300);
});

test('no input error of any verb is a message of the schema library', () => {
  const values = [undefined, null, 7, -1.5, Number.NaN, '', 'x', true, [], [null], {}, { '': null }];
  for (const { input, verb } of OPERATIONS) {
    for (const field of Object.keys(input.shape)) {
      for (const value of values) {
        const others = Object.fromEntries(Object.keys(input.shape).map((name) => [name, 'x']));
        for (const rest of [others, {}]) {
          const found = checkInput(input, { ...rest, [field]: value });
          if ('data' in found) continue;
          assert.doesNotMatch(
            found.wrong,
            /invalid|expected|received|too (small|big)|unrecognized/i,
            verb.name,
          );
        }
      }
    }
  }
});
