import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOver, type Line, table } from './table.ts';

function line(ratio: number, limit: number | null): Line {
  return {
    bench: { name: 'pull', claim: limit === null ? null : `at most ${limit}×`, limit },
    result: { measured: 0.25, baseline: 0.2, unit: 'ms', ratio, spread: [1, ratio], detail: 'a pull' },
  };
}

test('a claim is broken above its limit but not at it, and an informational figure breaks none', () => {
  assert.equal(isOver(line(1.6, 1.6)), false);
  assert.equal(isOver(line(1.61, 1.6)), true);
  assert.equal(isOver(line(99, null)), false);
});

test('the table says what was measured, against what, and whether the claim holds', () => {
  assert.equal(
    table([line(1.25, 1.6), line(2, 1.5), line(3, null)]),
    [
      'bench  measured  baseline  ratio     spread  limit',
      'pull   0.250 ms  0.200 ms  1.25×  1.00–1.25   1.6×  ok    a pull',
      'pull   0.250 ms  0.200 ms  2.00×  1.00–2.00   1.5×  OVER  a pull',
      'pull   0.250 ms  0.200 ms  3.00×  1.00–3.00      –        a pull',
    ].join('\n'),
  );
});

test('the table has a column for CPU time if any was measured', () => {
  const { bench, result } = line(1.25, null);
  const worked = { bench, result: { ...result, work: { ...result, ratio: 0.9 } } as Line['result'] };
  assert.equal(
    table([worked, line(2, null)]),
    [
      'bench  measured  baseline  ratio     spread    cpu  limit',
      'pull   0.250 ms  0.200 ms  1.25×  1.00–1.25  0.90×      –    a pull',
      'pull   0.250 ms  0.200 ms  2.00×  1.00–2.00      –      –    a pull',
    ].join('\n'),
  );
});

test('a skipped benchmark gives the reason and breaks no claim', () => {
  const skipped = { bench: { name: 'pull', claim: null, limit: 1 }, result: { skipped: 'no peer here' } };
  assert.equal(isOver(skipped), false);
  assert.equal(
    table([skipped]).split('\n')[1],
    'pull          –         –      –       –     1×    no peer here',
  );
});
