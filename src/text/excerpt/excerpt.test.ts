import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExcerptBuilder, excerpt } from './excerpt.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const of = (text: string, options = {}) => excerpt([bytes(text)], options);

describe('excerpt', () => {
  it('returns a text that fits unchanged', async () => {
    const text = 'one\r\n\x1b[31mtwo\x1b[0m\n';
    const found = await of(text);
    assert.equal(found.text, text);
    assert.equal(found.whole, true);
    assert.equal(found.lines, 2);
    assert.deepEqual(found.omitted, []);
  });

  it('shows the one error among thousands of warnings, with its line number', async () => {
    const lines = Array.from(
      { length: 5556 },
      (_, i) => `src/m${i}.c:${i}:5: warning: unused variable 'v${i}'`,
    );
    lines[3000] = "src/m3000.c:77:9: error: too few arguments to function 'init_pool'";
    const found = await of(`${lines.join('\n')}\nmake: *** [Makefile:12: all] Error 1\n`);
    assert.match(found.text, /^3001 src\/m3000\.c:77:9: error: too few/m);
    assert.match(found.text, /^5557 make: \*\*\* /m);
    assert.equal(found.kind, 'build');
    assert.ok(found.shownTokens <= 1200);
  });

  it('names every range that it leaves out', async () => {
    const found = await of(Array.from({ length: 900 }, (_, i) => `INFO step ${i} done`).join('\n'), {
      budget: 100,
    });
    for (const { from, to } of found.omitted)
      assert.ok(found.text.includes(from === to ? `…${from}` : `…${from}-${to}`), `${from}-${to}`);
    assert.ok(found.omitted.length > 0);
  });

  it('can be fed in small chunks, with the same result', async () => {
    const text = Array.from({ length: 500 }, (_, i) => `2026-01-01 ERROR número ${i} 失败\r\n`).join('');
    const builder = new ExcerptBuilder({ budget: 200 });
    for (let at = 0, all = bytes(text); at < all.length; at += 7) builder.write(all.subarray(at, at + 7));
    assert.deepEqual(await builder.finish(), await of(text, { budget: 200 }));
  });
});
