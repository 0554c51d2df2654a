import type { Line } from './line-reader.ts';

/** Kind of a text. It decides how the important lines are found. */
export type ExcerptKind =
  | 'tests'
  | 'build'
  | 'trace'
  | 'log'
  | 'diff'
  | 'json'
  | 'table'
  | 'listing'
  | 'html'
  | 'text'
  | 'binary';

/** Importance of a line. A failure is an error that starts a block of details. */
export type Rank = 'failure' | 'error' | 'summary' | 'warning' | 'quiet';

/** Recognises one form of line. The first recogniser that matches decides. */
export interface Recogniser {
  readonly kind: ExcerptKind;
  readonly rank: Rank;
  readonly test: RegExp;
  /**
   * The block ends before the first line that matches this pattern. Without a pattern, the block ends before
   * the first line that is not indented deeper than the matching line.
   */
  readonly until?: RegExp;
  /**
   * Number of lines before the matching line that belong to it. `heading` is the last unindented line, such as the
   * file name in the output of eslint.
   */
  readonly before?: number | 'heading';
  /** Number of unindented lines after the matching line that belong to it. */
  readonly after?: number;
  /** Matches the name of the rule that a line reports. Lines with the same rule count as similar. */
  readonly rule?: RegExp;
}

const DURATION = String.raw`(?:\(?\d[\d.,]*\s?(?:m?s|min|sec\w*|minutes?|hours?)\b.*)?`;

type Row = readonly [
  kind: ExcerptKind,
  rank: Rank,
  test: RegExp,
  more?: Pick<Recogniser, 'until' | 'before' | 'after' | 'rule'>,
];

/** Recognisers of test runners, compilers, linters and stack traces, most specific first. */
const RUN: readonly Recogniser[] = (
  [
    // Test runners: node:test (spec), vitest, mocha, Deno
    ['tests', 'summary', /^(?:[ℹ#]|\s*<!--) (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms)\b/],
    ['tests', 'summary', /^\s*✖ failing tests:/],
    ['build', 'summary', /^\s*✖ \d+ problems?\b/],
    ['tests', 'failure', /^\s*(?:✖|✗|✘|×|✕) \S/, { before: 1 }],
    [
      'tests',
      'warning',
      /^\s*(?:ok \d+.*# (?:skip|todo)|[﹣○↓] \S|--- SKIP|test .* \.\.\. ignored|\S+::\S+ (?:SKIPPED|XFAIL|XPASS)|<skipped\b)/i,
    ],
    // Test results in the format TAP
    ['tests', 'failure', /^\s*not ok \d+(?!.*# (?:todo|skip))/i],
    [
      'tests',
      'quiet',
      /^\s*(?:ok \d+|✔|✓|√|▶|PASS\b|=== (?:RUN|PAUSE|CONT)|--- PASS|.* \.\.\. ok$|\S+::\S+ PASSED\b)/,
    ],
    ['tests', 'summary', /^1\.\.\d+$/],
    // Test runners: jest, vitest
    ['tests', 'failure', /^\s+● \S/, { until: /^\s+● |^(?:Test Suites|Tests|PASS|FAIL)\b/ }],
    ['tests', 'failure', /^\s*FAIL\s+\S+.* > /, { until: /^\s*(?:⎯{5,}|FAIL\s)/ }],
    ['tests', 'summary', /^\s*(?:Test Suites:|Tests:?\s|Test Files\s|Snapshots:?\s|Time:\s|Duration\s).*\d/],
    // Test runner: pytest
    ['tests', 'failure', /^_{3,} .+ _{3,}$/, { until: /^(?:_{3,} .+ _{3,}|=+ .+ =+)$/ }],
    ['tests', 'error', /^(?:(?:SUB)?FAILED|ERROR|SUBFAIL)(?:[[(].*?[\])])? \S+(?:::|\.py)/],
    [
      'tests',
      'summary',
      /^=* ?(?:\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun|subtests \w+)(?:, )?)+ in \d/,
    ],
    ['tests', 'summary', /^=+ (?:short test summary|no tests ran|slowest).*=+$/],
    // Test runner: unittest
    ['tests', 'failure', /^(?:FAIL|ERROR): \w+ \(/, { until: /^={20,}$|^Ran \d/ }],
    ['tests', 'summary', /^(?:Ran \d+ tests? in|FAILED \(|OK(?: \(|$))/],
    // Test runner: go test
    ['tests', 'failure', /^\s*--- FAIL: /, { before: 3 }],
    ['tests', 'summary', /^(?:FAIL|ok {1,2})(?:\s+\S+\s+(?:\d[\d.]*s|\[.*\]|\(cached\)).*)?$/],
    // Test runner: cargo test
    ['tests', 'failure', /^---- .+ stdout ----$/, { until: /^(?:---- .+ ----|failures:|test result:)/ }],
    ['tests', 'error', /^test .+ \.\.\. FAILED/],
    ['tests', 'summary', /^test result: /],
    // Test results in the format JUnit XML
    ['tests', 'summary', /^\s*<testsuites?\b/],
    [
      'tests',
      'failure',
      /<(?:failure|error)\b[^>]*>/,
      { until: /^\s*<(?:\/testsuite|testcase)\b/, before: 1 },
    ],
    ['tests', 'quiet', /^\s*<testcase\b.*\/>/],
    // Test runners: Playwright, mocha, RSpec
    [
      'tests',
      'failure',
      /^\s+\d+\) \S/,
      { until: /^\s{1,4}\d+\) |^\s*[✔✓] |^\s+\d+ (?:failed|passed|flaky|skipped|interrupted)\b/ },
    ],
    [
      'tests',
      'summary',
      new RegExp(
        `^\\s+\\d+ (?:failed|passed|flaky|skipped|did not run|interrupted|passing|failing|pending)\\b ?${DURATION}$`,
      ),
    ],
    // Other test runners: Maven, Gradle, PHPUnit, RSpec, CTest
    [
      'tests',
      'summary',
      /\b(?:Tests run: \d+|Tests: \d+, |\d+ examples?, \d+ failures?|\d+% tests passed|\d+ tests completed)/,
    ],
    ['tests', 'failure', /^\S.* > .+ FAILED$/],
    // Compilers and linters
    [
      'build',
      'summary',
      /^(?:Found \d+ (?:errors?|warnings?|problems?|issues?)|Success: no issues|All checks passed|Checked \d+ files|\d+ (?:warnings?|errors?)(?: and \d+ errors?)? generated|BUILD (?:FAILED|SUCCESS\w*)|(?:error|warning): (?:could not compile|.+ generated \d+ warnings?|aborting due to)|make(?:\[\d+\])?: \*\*\*|\s*Finished |ninja: build stopped|npm (?:ERR!|error) (?:code|Lifecycle|Exit))/,
    ],
    [
      'build',
      'failure',
      /^(?:\S.*?(?:\(\d+,\d+\)|:\d+(?::\d+)?)(?: - |: ))?(?:fatal |internal compiler |syntax )?error(?: ?[A-Z]+\d+|\[[\w:-]+\])?: /i,
    ],
    ['build', 'failure', /^\s+\d+:\d+\s+error\s/, { before: 'heading', rule: /\S+$/ }],
    ['build', 'warning', /^\s+\d+:\d+\s+warn(?:ing)?\s/, { before: 'heading', rule: /\S+$/ }],
    [
      'build',
      'failure',
      /^(?:\S+:\d+:\d+ )?\S+ (?:FIXABLE +)?━{3,}/,
      { until: /━{5,}|^(?:Checked|Found) \d/ },
    ],
    [
      'build',
      'failure',
      /^\S+\.(?:go|py|js|ts|rb|java|php|sh|c|cc|cpp|h|swift|kt|rs):\d+:\d+: (?!warning|note|info)/,
    ],
    [
      'build',
      'failure',
      /^[A-Z]{1,4}\d{3,4} (?:\[\*\] )?\S.*$|^ERROR in |undefined reference to|^(?:npm (?:ERR!|error)|ERROR:|Error:|FAILED:|CMake Error)/,
    ],
    [
      'build',
      'warning',
      /^(?:\S.*?(?:\(\d+,\d+\)|:\d+(?::\d+)?)(?: - |: ))?warning(?: ?[A-Z]+\d+|\[[\w:-]+\])?: /i,
    ],
    ['build', 'quiet', /^\S+:\d+(?::\d+)?: (?:note|info): /],
    // Stack traces
    ['trace', 'failure', /^\s*Traceback \(most recent call last\)/, { after: 1 }],
    [
      'trace',
      'failure',
      /^(?:panic: |fatal error: |thread '.*' (?:\(\d+\) )?panicked at )/,
      { until: /^(?:exit status|note: run with|FAIL\b|---- )/ },
    ],
    ['trace', 'failure', /^(?:Exception in thread |Caused by: |Uncaught |Unhandled |\s*\[cause\]: )/],
    ['trace', 'failure', /^(?:[\w$]+[.:])*[A-Z]\w*(?:Error|Exception|Failure)(?: \[[\w-]+\])?(?::|$)/],
  ] as const satisfies readonly Row[]
).map(([kind, rank, test, more]: Row) => ({ kind, rank, test, ...more }));

const LEVELS: readonly (readonly [Rank, RegExp])[] = [
  ['error', /^(?:err(?:or)?|fatal|crit(?:ical)?|panic|severe|emerg(?:ency)?|alert|failure|[56]0)$/i],
  ['warning', /^(?:warn(?:ing)?|40)$/i],
  ['quiet', /^(?:info(?:rmation)?|debug|trace|notice|verbose|fine[rst]*|config|dbg|inf|[123]0)$/i],
];
/** These patterns match the level of a log line: a field, or a word in brackets or capitals near the beginning. */
const LEVEL_FIELD =
  /\b(?:level|severity|lvl|loglevel|log_level|levelname)"?\s*[=:]\s*"?([A-Za-z]+|[1-6]0\b)/i;
const LEVEL_WORD =
  /^.{0,72}?(?:^|[\s[(<|:\]])(ERROR|ERR|FATAL|CRITICAL|CRIT|PANIC|SEVERE|EMERG|ALERT|WARNING|WARN|INFO|DEBUG|TRACE|NOTICE|VERBOSE|INF|DBG)(?=$|[\s\])>|:,])/;
const LEVEL_BRACKET =
  /^.{0,60}?[[(<](error|err|fatal|critical|crit|emerg|alert|warning|warn|info|debug|trace|notice)[\])>:]/;
const LEVEL_CJK =
  /^.{0,60}?(?:^|[\s[【(（<|:：])(?:(错误|錯誤|严重|致命|紧急|エラー|重大|致命的|오류|심각)|(警告|注意|경고)|(信息|資訊|调试|提示|情報|デバッグ|通知|정보|디버그))(?=$|[\s\]】)）>|:：,，])/;
const GLOG = /^([EFWID])\d{4} \d\d:\d\d/;

/** Matches the status in a line of an access log. */
const ACCESS = /HTTP\/[\d.]+"? ([1-5])\d\d\b/;

/** Matches words that report an error in a line without a level. */
const ERROR_WORDS =
  /\b(?:error|exception|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|abort(?:ed|ing)?|segmentation fault|core dumped|denied|refused|unreachable|timed out|timeout|cannot|could not|unable to|not found|no such file|killed|out of memory|invalid|unexpected|conflict|mismatch|corrupt(?:ed)?|crash(?:ed)?|rejected|exceeded|missing)\b|错误|錯誤|失败|失敗|异常|異常|致命|超时|拒绝|无法|エラー|例外|タイムアウト|できません|拒否|오류|실패/i;
const NO_ERRORS =
  /\b(?:0|no|without|zero) (?:\w+ )?(?:errors?|failures?|failed|problems|exceptions?)\b|\b(?:err|errors?|failures?|failed)(?: count| rate)?[\s:="]*(?:0\b|\[\]|none|nil|null|false)|\bif\b.*\bfails?\b/i;
const WARNING_WORDS =
  /\b(?:warn(?:ing)?|deprecat\w+|vulnerabilit\w+|skipp(?:ed|ing))\b|警告|非推奨|弃用|경고/i;
/** Matches lines with a count, which are usually near the end of an output. */
const SUMMARY =
  /^\s*(?:total|summary|done|finished|completed|result|elapsed|real|user|sys)\b.*\d|\b\d+ (?:passed|failed|errors?|warnings?|skipped|packages?|vulnerabilities|files? changed)\b|合計|合计|总计|總計|完成|完了|共\s?\d/i;

export interface Recognised {
  readonly kind: ExcerptKind | null;
  readonly rank: Rank | null;
  readonly by?: Recogniser;
}

const UNKNOWN: Recognised = { kind: null, rank: null };

/**
 * Every line that a recogniser of `RUN` matches also matches this pattern or contains one of the words below.
 * Most lines of a log pass neither test, and the slower recognisers are skipped for them.
 */
const RUN_START = /^(?:\s*(?:[ℹ#✖✗✘×✕✔✓√▶●<﹣○↓]|not ok|ok |\d+(?:[:)]| [a-z]|\.\.)|[A-Z])|[_=-]{3})/;
const RUN_WORD =
  /error|fail|warn|━|panic|test|found|checked|generated|make|npm|exception|cause|undefined|:\d+:|::|\.\.\. ok|ninja/i;

/**
 * Matches a line of numbers without words. No recogniser matches such a line, so the recognisers are skipped.
 */
const NUMBERS = /^[\d\s.,:%+]*$/;

/**
 * Recognises a line of a program's output without ANSI codes. In later pieces of a long line, looks only for words.
 */
export function recognise({ text, column }: Line): Recognised {
  if (NUMBERS.test(text)) return UNKNOWN;
  const level = column > 0 ? null : levelOf(text);
  if (level) return { kind: 'log', rank: level };
  if (column === 0 && (RUN_START.test(text) || RUN_WORD.test(text))) {
    for (const by of RUN) if (by.test.test(text)) return { kind: by.kind, rank: by.rank, by };
  }
  const isSummary = SUMMARY.test(text);
  if (!isSummary && ERROR_WORDS.test(text) && !NO_ERRORS.test(text)) return { kind: null, rank: 'error' };
  if (isSummary) return { kind: null, rank: 'summary' };
  if (WARNING_WORDS.test(text)) return { kind: null, rank: 'warning' };
  return UNKNOWN;
}

/** Returns the importance of a log line by its level. An INFO line with the word "error" is quiet. */
function levelOf(text: string): Rank | null {
  const cjk = LEVEL_CJK.exec(text);
  if (cjk) return cjk[1] ? 'error' : cjk[2] ? 'warning' : 'quiet';
  const status = ACCESS.exec(text)?.[1];
  if (status) return status === '5' ? 'error' : status === '4' ? 'warning' : 'quiet';
  const glog = GLOG.exec(text)?.[1];
  if (glog) return glog === 'E' || glog === 'F' ? 'error' : glog === 'W' ? 'warning' : 'quiet';
  // `ERROR: text` and `WARNING: text` at the start of a line come from a tool, not from a log.
  const word = LEVEL_FIELD.exec(text)?.[1] ?? (LEVEL_WORD.exec(text) ?? LEVEL_BRACKET.exec(text))?.[1];
  if (!word || /^(?:ERROR|WARNING|FATAL)(?::| \S+(?:::|\.py))/.test(text)) return null;
  return LEVELS.find(([, pattern]) => pattern.test(word))?.[0] ?? null;
}
