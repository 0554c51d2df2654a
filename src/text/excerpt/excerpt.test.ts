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

  it('fills its budget with other lines after the important ones', async () => {
    const { shownTokens } = await of(Array.from({ length: 900 }, (_, i) => `INFO step ${i} done`).join('\n'));
    assert.ok(shownTokens > 1100 && shownTokens <= 1200, String(shownTokens));
  });

  it('shows the first failure in JSON with its reason and the name of its object', async () => {
    const items = Array.from({ length: 600 }, (_, i) => ({
      metadata: { name: `pod-${i}` },
      status: i === 333 ? { phase: 'Failed', reason: 'Evicted', message: 'disk full' } : { phase: 'Running' },
    }));
    const { text } = await of(JSON.stringify({ items }, null, 2), { budget: 300 });
    assert.match(
      text,
      /"name": "pod-333"[\s\S]*"phase": "Failed",\n\d+ +"reason": "Evicted",\n\d+ +"message": "disk full"/,
    );
  });

  it('shows the names of pages before their navigation and style', async () => {
    const links = Array.from({ length: 400 }, (_, i) => `<a href="/${i}">Guide ${i}</a>`);
    const page = ['<!doctype html>', '<nav>', ...links, '</nav>', '<h2>Limits</h2>', '<p>At most 25 MiB</p>'];
    const { text } = await of([...page, ...links.map((link) => `<script>${link}</script>`)].join('\n'), {
      budget: 200,
    });
    assert.match(text, /<h2>Limits<\/h2>\n\d+ <p>At most 25 MiB<\/p>/);
  });

  it('can be fed in small chunks, with the same result', async () => {
    const text = Array.from({ length: 500 }, (_, i) => `2026-01-01 ERROR número ${i} 失败\r\n`).join('');
    const builder = new ExcerptBuilder({ budget: 200 });
    for (let at = 0, all = bytes(text); at < all.length; at += 7) builder.write(all.subarray(at, at + 7));
    assert.deepEqual(await builder.finish(), await of(text, { budget: 200 }));
  });

  it('removes ANSI codes and overwritten progress, and keeps the line numbers', async () => {
    const lines = Array.from({ length: 400 }, (_, i) => `\x1b[32mok\x1b[0m step ${i}`);
    lines[200] = `10 %\r50 %\r\x1b[2K100 %\r\x1b[31mERROR: disk ${'is '.repeat(3)}full\x1b[0m`;
    const { text } = await of(lines.join('\r\n'), { budget: 200 });
    assert.match(text, /^201 ERROR: disk is is is full$/m);
    assert.doesNotMatch(text, /\x1b|\r|50 %/);
  });

  it('cuts a long line at a column and finds what is rare in it', async () => {
    const rows = Array.from({ length: 3000 }, (_, i) => ({ id: i, state: i === 1777 ? 'broken' : 'fine' }));
    const { text, lines } = await of(JSON.stringify({ total: 3000, rows }), { budget: 400 });
    assert.equal(lines, 1);
    assert.match(text, /^1 \{"total":3000,/);
    assert.match(text, /^1:\d+ .*"id":1777,"state":"broken".* \[…\]$/m);
  });

  it('counts the similar lines that it leaves out', async () => {
    const found = await of(`${'waiting for 10.0.0.7\n'.repeat(998)}connected\n`, { budget: 100 });
    assert.match(found.text, /^…\d+-\d+: 99\d similar lines/m);
    assert.match(found.text, /^999 connected$/m);
  });

  it('ranks lines higher that match the question, also in Chinese', async () => {
    const lines = Array.from({ length: 3000 }, (_, i) => `step ${i}: queue ${'abcdefgh'[i % 8]} 处理订单`);
    lines[1503] = 'step 1503: the invoice printer changed its toner';
    lines[1707] = 'step 1707: 发票打印机更换了墨粉';
    for (let i = 0; i < 200; i++)
      lines[i * 10] = `note ${String.fromCharCode(97 + (i % 26))}${'xyz'[i % 3]} seen`;
    const ask = async (question: string) => (await of(lines.join('\n'), { budget: 300, question })).text;
    assert.match(await ask('When did the printer change toner?'), /^1504 step 1503/m);
    assert.match(await ask('谁更换了打印机的墨粉？'), /^1708 step 1707/m);
  });
});

/** Returns `count` unimportant lines. */
const quiet = (form: (i: number) => string, count = 900) => Array.from({ length: count }, (_, i) => form(i));
/** Outputs with some important lines. A small excerpt must contain these lines and the last line. */
const OUTPUTS: readonly (readonly [
  name: string,
  kind: string,
  before: string[],
  important: string[],
  after: string[],
])[] = [
  [
    'node:test',
    'tests',
    quiet((i) => `✔ works ${i} (1ms)`),
    ['✖ fails (2ms)', '  AssertionError: 1 !== 2'],
    ['ℹ tests 901', 'ℹ fail 1'],
  ],
  [
    'TAP',
    'tests',
    quiet((i) => `ok ${i + 1} - works`),
    ['not ok 901 - fails', '  ---', "  error: 'boom'", '  ...'],
    ['# fail 1'],
  ],
  [
    'jest',
    'tests',
    quiet((i) => `    ✓ works ${i} (1 ms)`),
    ['  ● suite › fails', '', '    Expected: 78'],
    ['', 'Tests:       1 failed, 900 passed, 901 total'],
  ],
  [
    'pytest',
    'tests',
    quiet((i) => `t.py::test_${i} PASSED [ 9%]`),
    ['____ test_boom ____', '', "E   KeyError: 'missing'"],
    [
      '=== short test summary info ===',
      "FAILED t.py::test_boom - KeyError: 'missing'",
      'SUBFAILED(i=1) t.py::test_sub - assert 1 != 1',
      '1 failed, 900 passed, 2 subtests passed in 1.69s',
    ],
  ],
  [
    'go test',
    'tests',
    quiet((i) => `--- PASS: Test${i} (0.00s)`),
    ['    x_test.go:64: got 61, want 62', '--- FAIL: Test901 (0.00s)'],
    ['FAIL', 'FAIL\texample.com/x\t0.026s'],
  ],
  [
    'cargo test',
    'tests',
    quiet((i) => `test t::case_${i} ... ok`),
    ['---- t::case_44 stdout ----', "thread 't::case_44' panicked at src/lib.rs:93:16:", '  left: 44'],
    ['test result: FAILED. 900 passed; 1 failed'],
  ],
  [
    'JUnit XML',
    'tests',
    quiet((i) => `<testcase name="works ${i}"/>`),
    ['<testcase name="fails">', '  <failure message="1 !== 2">at x</failure>', '</testcase>'],
    ['</testsuites>'],
  ],
  [
    'Playwright',
    'tests',
    quiet((i) => `  ✓  ${i} [chromium] › a.spec.ts:3:5 › works (7ms)`),
    ['  1) [chromium] › a.spec.ts:47:5 › fails ───', '', '    Expected: "$42"'],
    ['  1 failed', '  900 passed (12.3s)'],
  ],
  [
    'tsc',
    'build',
    quiet((i) => `bundled ${i}.ts`),
    ["src/a.ts(12,5): error TS2345: Argument of type 'x'."],
    ['Found 1 error in src/a.ts:12'],
  ],
  [
    'rustc',
    'build',
    quiet((i) => `warning: unused variable: \`x${i}\``),
    ['error[E0308]: mismatched types', '  --> src/main.rs:81:26'],
    ['error: could not compile `a` due to 1 previous error'],
  ],
  [
    'eslint',
    'build',
    quiet((i) => `  ${i}:1  warning  Unexpected var  no-var`),
    ['  401:8  error  Expected ===  eqeqeq'],
    ['✖ 901 problems (1 error, 900 warnings)'],
  ],
  [
    'Python',
    'trace',
    quiet((i) => `loaded ${i}`),
    ['Traceback (most recent call last):', '  File "a.py", line 3, in f', 'ValueError: bad row'],
    ['bye'],
  ],
  [
    'a log',
    'log',
    quiet((i) => `2026-11-01T10:00:00Z INFO request ${i} done, error=none`),
    ['2026-11-01T10:00:01Z ERROR charge failed', '\tat com.acme.Pay.charge(Pay.java:88)'],
    ['2026-11-01T10:00:02Z INFO bye, 900 requests'],
  ],
  [
    'an access log',
    'log',
    quiet((i) => `10.0.0.${i % 9} - - [x] "GET /${i} HTTP/1.1" 200 ${i}`),
    ['10.0.0.3 - - [x] "GET /pay HTTP/1.1" 503 17'],
    ['10.0.0.1 - - [x] "GET /z HTTP/1.1" 200 5'],
  ],
  [
    'a Chinese log',
    'log',
    quiet((i) => `2026-11-01 [信息] 订单 ${i} 完成，无错误`),
    ['2026-11-01 [错误] 支付网关超时'],
    ['2026-11-01 [信息] 共 900 个订单'],
  ],
  [
    'a Japanese log',
    'log',
    quiet((i) => `10:00:00 情報 注文${i}（エラーなし）`),
    ['10:00:01 エラー 決済がタイムアウトしました'],
    ['10:00:02 情報 終了'],
  ],
  [
    'JSON Lines',
    'json',
    quiet((i) => `{"id":${i},"state":"open"}`),
    ['{"id":77,"state":"locked"}'],
    ['{"id":78,"state":"open"}'],
  ],
  [
    'CSV',
    'table',
    ['id,region,amount', ...quiet((i) => `${i},north,${(i * 37) % 500}`)],
    ['901,north,987654'],
    ['902,north,7'],
  ],
  [
    'a diff',
    'diff',
    ['diff --git a/x b/x', '--- a/x', '+++ b/x', '@@ -1 +1 @@', ...quiet((i) => ` same ${i}`)],
    ['+const LIMIT = 7;'],
    [' end'],
  ],
  [
    'git diff --stat',
    'diff',
    quiet((i) => ` src/a${i}.ts | ${(i % 7) + 1} +-`),
    [' src/huge.ts | 9412 ++++----'],
    [' 901 files changed, 9000 insertions(+), 4000 deletions(-)'],
  ],
  ['a listing', 'listing', quiet((i) => `src/a/file${i}.ts`), ['src/a/secret.pem'], ['src/z.ts']],
  [
    'HTML',
    'html',
    ['<!doctype html>', ...quiet((i) => `<style>.c${i}{}</style>`)],
    ['<h1>Order 4711</h1>'],
    ['</html>'],
  ],
];

describe('excerpt recognises', () => {
  for (const [name, kind, before, important, after] of OUTPUTS) {
    it(name, async () => {
      // Half of the harmless lines come after the important ones.
      const half = Math.max(40, Math.floor(before.length / 2));
      const lines = [...before.slice(0, half), ...important, ...before.slice(half), ...after];
      const found = await of(lines.join('\n'), { budget: 400 });
      assert.equal(found.kind, kind);
      for (const [i, text] of important.entries())
        if (text !== '') assert.ok(found.text.includes(`${half + i + 1} ${text}`), found.text);
      for (const [i, text] of after.entries())
        if (text !== '')
          assert.ok(found.text.includes(`${lines.length - after.length + i + 1} ${text}`), found.text);
      assert.ok(found.shownTokens <= 400);
    });
  }
});
