import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSuspect, neutralise } from '../../src/base/sanitize/neutralise.ts';
import { HARMLESS } from './corpus/harmless.ts';
import { HOSTILE } from './corpus/hostile.ts';

describe('what goes to a model is data', () => {
  it('takes the instruction out of every hostile text', () => {
    assert.ok(HOSTILE.length >= 150, `${HOSTILE.length} texts`);
    const missed = HOSTILE.filter(
      (text) => !neutralise(text).includes('[removed: ') || isSuspect(neutralise(text)),
    );
    assert.deepEqual(missed, []);
  });

  it('finds it in the middle of other text too, and leaves that as it is', () => {
    const before = 'Minutes of the meeting, 3 March.\n\n';
    const after = '\n\nNext meeting: 10 March. Bring cake.';
    for (const text of HOSTILE) {
      const out = neutralise(before + text + after);
      assert.ok(out.includes('[removed: '), text);
      assert.ok(out.startsWith(before.trimEnd()) && out.endsWith(after.trimStart()), JSON.stringify(out));
    }
  });

  it('lets harmless text through unchanged', () => {
    assert.ok(HARMLESS.length >= 150, `${HARMLESS.length} texts`);
    const changed = HARMLESS.filter((text) => neutralise(text) !== text).map((text) => [
      text,
      neutralise(text),
    ]);
    assert.deepEqual(changed, []);
  });

  it('is done after one pass', () => {
    for (const text of [...HOSTILE, ...HARMLESS])
      assert.equal(neutralise(neutralise(text)), neutralise(text));
  });

  it('takes out what cannot be seen', () => {
    const cases: [string, string][] = [
      ['a\u200bb\u200cc\u200dd\ufeffe', 'abcde'],
      ['pay \u202e001\u202c now', 'pay 001 now'],
      ['x\u2066y\u2069z', 'xyz'],
      ['hidden\u{e0068}\u{e0069} text', 'hidden text'],
      ['bytes\ufe01\ufe02\ufe03 in selectors', 'bytes in selectors'],
      ['bell\u0007 and \u001b[31mred\u001b[0m', 'bell and red'],
      ['\u001b]0;title\u0007shown', 'shown'],
      ['over\rwritten', 'over\nwritten'],
      ['half \ud800 a pair', 'half \ufffd a pair'],
      ['soft\u00adhyphen', 'softhyphen'],
    ];
    for (const [text, expected] of cases) assert.equal(neutralise(text), expected);
  });

  it('comes to an end on text made to be slow', () => {
    const slow = [
      'ignore the all your of these those any every '.repeat(2000),
      'a'.repeat(100_000),
      'a '.repeat(50_000),
      '<|'.repeat(50_000),
      '%69'.repeat(30_000),
      '### '.repeat(20_000),
      'send the all any every your '.repeat(5_000),
      '49 '.repeat(30_000),
    ];
    for (const text of slow) assert.equal(typeof neutralise(text), 'string');
  });
});
