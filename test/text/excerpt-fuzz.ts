import assert from 'node:assert/strict';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { type Excerpt, excerpt } from '../../src/text/excerpt/excerpt.ts';

/** Returns a seeded random generator (mulberry32), so that a failure can be repeated. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Random = (below: number) => number;

/** Lines of outputs. Most contain their line number, so that a wrong number in the excerpt is detected. */
const PIECES: readonly ((n: number, r: Random) => string)[] = [
  (n) => `2026-11-01T10:00:00Z INFO request #${n}# done, no error`,
  (n) => `2026-11-01 [错误] 支付失败 #${n}#`,
  (n) => `✖ test #${n}# fails (1ms)`,
  (n) => `    at frame #${n}# (file.ts:1:2)`,
  (n) => `src/a${n}.c:1:2: error: broken #${n}#`,
  (n) => `{"line":"#${n}#","level":"error","value":${n}}`,
  (n) => `"key": "#${n}#",`,
  (n) => `${n},#${n}#,x,y`,
  (n) => `+ added #${n}#`,
  (n) => `…${n}-${n + 7}: 412 similar lines #${n}#`,
  (n) => `${n + 1} a text that begins with a number #${n}#`,
  (n, r) => `progress\r${'50 %\r'.repeat(r(40))}done #${n}#`,
  (n, r) => `\x1b[${'31;'.repeat(r(30))}1m#${n}#\x1b[0m${'\x1b['.repeat(r(20))}`,
  (n, r) => `\x1b]0;title${r(2) ? '\x07' : ''}#${n}#`,
  (n, r) => `#${n}#${'x'.repeat(r(2000))}#${n}#`,
  (_, r) => '\x1b'.repeat(r(50)),
  (_, r) => '\r'.repeat(r(9)),
  () => '\ufeff\u2028\u0085',
  () => '',
];

/** Returns a random output: text, damaged text or bytes. */
export function randomOutput(seed: number): { bytes: Uint8Array; numbered: boolean } {
  const r = random(seed);
  const form = r(10);
  if (form === 0) return { bytes: Uint8Array.from({ length: r(20_000) }, () => r(256)), numbered: false };
  const kinds = Array.from({ length: 1 + r(4) }, () => PIECES[r(PIECES.length)]!);
  const end = form === 1 ? '\r' : r(3) === 0 ? '\r\n' : '\n';
  // With form 1 all lines have number 1, because a carriage return alone does not end a line.
  const lines = Array.from({ length: r(600) }, (_, i) => kinds[r(kinds.length)]!(form === 1 ? 1 : i + 1, r));
  const bytes = new TextEncoder().encode(lines.join(end) + (r(2) ? end : ''));
  if (form === 2) for (let i = r(50); i > 0 && bytes.length > 0; i--) bytes[r(bytes.length)] = 0x80 + r(128);
  return { bytes, numbered: form !== 2 };
}

/** Makes the excerpt of an output that arrives in random chunks. Asserts its budget, its counts and its lines. */
export async function checkExcerpt(
  seed: number,
  bytes: Uint8Array,
  numbered: boolean,
  fixedBudget?: number,
): Promise<Excerpt> {
  const r = random(seed + 1);
  const budget = fixedBudget ?? [0, 1, 20, 200, 1200, 5000][r(6)]!;
  const question = r(3) === 0 ? 'which request fails 支付?' : undefined;
  const chunks: Uint8Array[] = [];
  for (let at = 0, size = 0; at < bytes.length; at += size) {
    size = 1 + r(r(4) ? 20_000 : 10);
    chunks.push(bytes.subarray(at, at + size));
  }
  const result = await excerpt(chunks, { budget, question, counter: ownTextWork });
  const { tokens } = await ownTextWork.count(result.text);
  assert.equal(result.shownTokens, tokens);
  assert.ok(tokens <= budget, `${tokens} tokens, the budget is ${budget}`);
  assert.equal(result.bytes, bytes.length);
  const breaks = bytes.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0);
  const hasOpenLine = bytes.length > 0 && bytes.at(-1) !== 0x0a;
  assert.equal(result.lines, breaks + (hasOpenLine ? 1 : 0));
  if (!result.whole && result.kind !== 'binary') checkLines(result, numbered);
  return result;
}

/**
 * Asserts that each line of the excerpt has its number or marks omitted lines, and that these lines together cover
 * the whole output.
 */
function checkLines({ text, lines, omitted }: Excerpt, numbered: boolean): void {
  let next = 1;
  const gaps: { from: number; to: number }[] = [];
  for (const line of text === '' ? [] : text.split('\n')) {
    const gap = /^…(\d+)(?:-(\d+))?(?:: \d+ similar lines(?: up to \d+)?)?$/.exec(line);
    const numberedLine = /^(\d+)(?::(\d+))? (.*)$/s.exec(line);
    assert.ok(gap || numberedLine, line);
    if (gap) {
      gaps.push({ from: Number(gap[1]), to: Number(gap[2] ?? gap[1]) });
      assert.equal(gaps.at(-1)!.from, next);
      next = gaps.at(-1)!.to + 1;
    } else {
      const number = Number(numberedLine![1]);
      assert.ok(number === next || (numberedLine![2] && number === next - 1), `${line} after ${next - 1}`);
      next = number + 1;
      if (numbered)
        for (const [, n] of numberedLine![3]!.matchAll(/#(\d+)#/g)) assert.equal(Number(n), number, line);
      assert.doesNotMatch(line, /[\x00-\x08\x0b-\x1f\x7f]/);
    }
  }
  if (text !== '') assert.equal(next, lines + 1);
  if (text !== '') assert.deepEqual(omitted, gaps);
}
