import type { Json } from '../../src/base/json.ts';

/** Valid JSON values that some storage systems change. */
export const TRICKY_JSON: readonly Json[] = [
  null,
  true,
  false,
  0,
  -1,
  0.1,
  1e-7,
  5e-324,
  1.7976931348623157e308,
  Number.MAX_SAFE_INTEGER,
  -Number.MAX_SAFE_INTEGER,
  2 ** 60,
  '',
  ' ',
  'null',
  '{"not": "parsed"}',
  'line\nbreak\ttab\u0000nul\u001funit',
  '\u2028\u2029\ufeff\u200d',
  '名前 имя اسم שם 👩‍👩‍👧 e\u0301 \u00e9',
  '"\\\'`%_*;--',
  [],
  {},
  [[], [[]], {}],
  [null, null],
  { '': { '': '' } },
  { z: 1, a: 2, m: 3 },
  { 'a.b': 1, 'a/b': 2, 'a~b': 3, $ref: 4, 'with space': 5, 'ключ 🔑': 6 },
  JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "toString": null}'),
  { nested: nest(400), text: 'x'.repeat(5000) },
];

/** Returns a value whose JSON has exactly this many bytes. */
export function jsonOfBytes(bytes: number): Json {
  return 'x'.repeat(bytes - 2);
}

function nest(depth: number): Json {
  let value: Json = 'bottom';
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { in: value };
  return value;
}
