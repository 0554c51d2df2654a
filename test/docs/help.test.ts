import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { writeManPages } from '../../scripts/docs/man.ts';
import { guideText } from '../../src/interfaces/cli/commands/about.ts';
import { ROOT } from '../../src/interfaces/cli/commands.ts';
import { makeStyle } from '../../src/interfaces/cli/io.ts';
import { runHere } from '../cli/in-process.ts';
import { temporaryHome } from '../cli/program.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());
const help = (...args: string[]) => runHere(['help', ...args], { home: home.home });

describe('relay help', () => {
  test('lists the guides and prints each as it is in docs, without comments', async () => {
    const { sections } = JSON.parse((await help('guides', '--json')).stdout);
    const guides: { topic: string; file: string }[] = sections.flatMap(
      (section: { guides: unknown[] }) => section.guides,
    );
    assert.ok(guides.length > 25, `${guides.length} guides`);
    for (const { topic, file } of guides) {
      const printed = await help('guide', topic);
      const page = readFileSync(join(import.meta.dirname, '../../docs', file), 'utf8');
      const text = page.replace(/<!--[\s\S]*?-->\n*/g, '').trimEnd();
      assert.deepEqual([printed.code, printed.stdout.trimEnd()], [0, text], topic);
    }
  });

  test('shows the command if a command and a guide have the same name', async () => {
    assert.match((await help('channels')).stdout, /^List all channels/);
    assert.match((await help('guide', 'channels')).stdout, /^# Channels, groups, dead letters/);
    assert.match((await help('getting-started')).stdout, /^# Getting started/);
    assert.equal((await help()).stdout, (await runHere(['--help'], { home: home.home })).stdout);
  });

  test('suggests a name if there is no such guide or command', async () => {
    const { code, stderr } = await help('getting-startd');
    assert.equal(code, 2);
    assert.match(stderr, /no guide and no command "getting-startd"[\s\S]*relay help getting-started/);
  });
});

test('a guide in a terminal is wrapped to its width, without Markdown syntax', () => {
  const page = `# Title

A **paragraph** with a [link](other.md) and \`code\`,
in two lines.

<!-- run: hidden -->

| field | is | |
|---|---|---|
| \`name\` | a text | what it is \\| called |

- one item that is long enough to need more than a line
- two

\`\`\`sh
relay push   # code stays
\`\`\`
`;
  assert.equal(
    guideText(page, { style: makeStyle(false), width: 40 }),
    `Title

A paragraph with a link and code, in two
lines.

  name
      a text
      what it is | called

- one item that is long enough to need
  more than a line
- two

    relay push   # code stays`,
  );
});

test('every command has a man page, with its options and examples', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-man-'));
  try {
    await writeManPages(folder);
    const visible = Object.entries(ROOT.commands).filter(([, { hidden }]) => !hidden);
    const expected = ['relay.1', ...visible.map(([name]) => `relay-${name}.1`)].sort();
    assert.deepEqual(readdirSync(folder).sort(), expected);
    const push = readFileSync(join(folder, 'relay-push.1'), 'utf8');
    assert.match(push, /\\fB\\-c, \\-\\-channel\\fR \\fINAME\\fR/);
    for (const name of expected) {
      const page = readFileSync(join(folder, name), 'utf8');
      assert.match(page, /^\.TH RELAY\S* 1 .*\n\.SH NAME\nrelay\S* \\- \S/, name);
      // The page uses only ASCII and macros of man(7), so that every formatter can render it.
      const strange = page
        .split('\n')
        .filter((line) => /^['.](?!TH|SH|SS|TP|PP|BR|B |I |IR|RI|nf|fi)/.test(line));
      assert.deepEqual(strange, [], name);
      assert.doesNotMatch(page, /[^\n\x20-\x7e]/, name);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
