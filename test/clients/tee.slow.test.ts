import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { countTokens } from '../../src/app/store/token-counter.ts';
import { handleIn, RELAY, TeeSession } from './tee-session.ts';

/** Writes a settings file of the client and returns its text. */
function write(path: string, value: object): string {
  mkdirSync(dirname(path), { recursive: true });
  const text = `${JSON.stringify(value, null, '\t')}\n`;
  writeFileSync(path, text);
  return text;
}

async function assertShort(answer: string): Promise<void> {
  assert.match(answer, /not ok 2001 - closes the connection/);
  assert.match(answer, /Error: connection reset by the server/);
  assert.match(answer, /4,001 lines · \d\d,\d{3} tokens/);
  assert.ok((await countTokens(answer)).tokens <= 1_300);
}

const PULLED = /ok 2000 .*\n?.*not ok 2001 .*\n?.*Error: connection reset/;

test('Claude Code: excerpts of long outputs, and the same permissions as without relay', async () => {
  using session = new TeeSession('claude');
  const settings = join(session.home, '.claude', 'settings.json');
  const before = write(settings, {
    permissions: { allow: ['Bash(node:*)', `Bash(${RELAY} pull:*)`], deny: ['Bash(mkdir:*)'] },
  });
  mkdirSync(join(session.home, 'inner'));
  session.relay('install', 'claude', '--tee');
  const { answers } = await session.run(
    [
      () => session.shell('node failing.mjs'),
      ([excerpt = '']) => session.shell(`${RELAY} pull ${handleIn(excerpt)} --lines 2000-2003`),
      () => session.shell('mkdir denied'),
      () => session.shell('touch asked'),
      () => session.shell('node -e "console.log(process.cwd())" && node failing.mjs | tail -1'),
      () => session.shell('cd inner && node -e "for (let i = 0; i < 9000; i++) console.log(i)"'),
      () => session.shell('node -e "console.log(process.cwd())"'),
      () => session.shell('node failing.mjs', { run_in_background: true }),
    ],
    { args: (args) => args.slice(0, -2) },
  );
  await assertShort(answers[0]!);
  assert.match(answers[0]!, /^Exit code 1\n/);
  assert.match(answers[1]!, PULLED);
  assert.match(answers[2]!, /denied/);
  assert.match(answers[3]!, /approval|permission/i);
  assert.ok(!existsSync(join(session.home, 'denied')) && !existsSync(join(session.home, 'asked')));
  assert.match(answers[4]!, new RegExp(`${session.home}\\nok 4000 - `));
  assert.match(answers[5]!, /9,000 lines/);
  assert.match(answers[6]!, new RegExp(`${session.home}/inner$`));
  assert.match(answers[7]!, /running in background/);
  session.relay('install', 'claude', '--no-tee');
  assert.equal(readFileSync(settings, 'utf8'), before);
  assert.ok(!existsSync(join(session.home, '.claude', 'relay-shell-prefix')));
});

test('OpenCode: excerpts of long outputs, and the same permissions as without relay', async () => {
  using session = new TeeSession('opencode');
  const config = join(session.home, 'opencode.json');
  const { answers } = await session.run(
    [
      () => session.shell('node failing.mjs'),
      ([excerpt = '']) => session.shell(`${RELAY} pull ${handleIn(excerpt)} --lines 2000-2003`),
      () => session.shell('mkdir denied'),
      () => session.shell('node failing.mjs > out.txt'),
      () => session.shell('touch asked'),
    ],
    {
      prepare() {
        const bash = { '*': 'deny', 'node *': 'allow', 'touch *': 'ask', [`${RELAY} pull *`]: 'allow' };
        write(config, { ...JSON.parse(readFileSync(config, 'utf8')), permission: { bash } });
        session.relay('install', 'opencode', '--tee');
      },
    },
  );
  await assertShort(answers[0]!);
  assert.match(answers[1]!, PULLED);
  assert.match(answers[2]!, /rule|denied|prevents/);
  assert.ok(!existsSync(join(session.home, 'denied')) && !existsSync(join(session.home, 'asked')));
  assert.ok(readFileSync(join(session.home, 'out.txt')).length > 100_000);
  session.relay('install', 'opencode', '--no-tee');
  assert.ok(!existsSync(join(session.home, '.config/opencode/plugins/relay-tee.js')));
});

test('Gemini CLI: excerpts of long outputs, and the same permissions as without relay', async () => {
  using session = new TeeSession('gemini');
  const path = join(session.home, '.gemini', 'settings.json');
  let before = '';
  const { answers } = await session.run(
    [
      () => session.shell('node failing.mjs'),
      ([excerpt = '']) => session.shell(`${RELAY} pull ${handleIn(excerpt)} --lines 2000-2003`),
      () => session.shell('mkdir asked'),
      () => session.shell('node -e "process.exit()" denied'),
    ],
    {
      prepare() {
        const rule =
          'toolName = "run_shell_command"\ncommandPrefix = "node -e"\ndecision = "deny"\npriority = 900\n';
        mkdirSync(join(session.home, '.gemini', 'policies'));
        writeFileSync(join(session.home, '.gemini', 'policies', 'mine.toml'), `[[rule]]\n${rule}`);
        const settings = JSON.parse(readFileSync(path, 'utf8'));
        assert.throws(() => session.relay('install', 'gemini', '--tee'), /--approve-tools/);
        settings.mcpServers.relay.trust = true;
        before = write(path, settings);
        session.relay('install', 'gemini', '--tee');
      },
      args(args) {
        const at = args.indexOf('--approval-mode');
        const allowed = ['node', `${RELAY} pull`].flatMap((line) => [
          '--allowed-tools',
          `run_shell_command(${line})`,
        ]);
        return [...args.slice(0, at), ...allowed, ...args.slice(at + 2)];
      },
    },
  );
  await assertShort(JSON.parse(answers[0]!).response.output);
  assert.match(JSON.parse(answers[1]!).response.output, PULLED);
  // Without a terminal, Gemini CLI denies every command for which it would ask the user.
  assert.match(answers[2]!, /denied by policy/);
  assert.match(answers[3]!, /denied by policy/);
  assert.ok(!existsSync(join(session.home, 'asked')));
  session.relay('install', 'gemini', '--no-tee');
  assert.equal(readFileSync(path, 'utf8'), before);
});

test('Codex: the line that the skill teaches gives an excerpt, and a forbidden command stays forbidden', async () => {
  using session = new TeeSession('codex');
  const skill = readFileSync(join(import.meta.dirname, '../../skill/context-relay/SKILL.md'), 'utf8');
  assert.match(skill, /`COMMAND \| relay tee`/);
  assert.match(session.relay('install', 'codex', '--tee'), /COMMAND \| relay tee/);
  const { answers } = await session.run(
    [
      () => session.shell(`node failing.mjs | ${RELAY} tee`),
      ([excerpt = '']) => session.shell(`${RELAY} pull ${handleIn(excerpt)} --lines 2000-2003`),
      () => session.shell(`mkdir denied | ${RELAY} tee`),
    ],
    {
      prepare() {
        const rules = join(session.home, '.codex', 'rules');
        mkdirSync(rules, { recursive: true });
        const rule = 'prefix_rule(pattern=["mkdir"], decision="forbidden")\n';
        writeFileSync(join(rules, 'default.rules'), rule);
      },
      args: (args) => {
        const open = args.indexOf('--dangerously-bypass-approvals-and-sandbox');
        return args.with(open, '--sandbox=danger-full-access');
      },
    },
  );
  await assertShort(answers[0]!);
  assert.match(answers[1]!, PULLED);
  assert.match(answers[2]!, /forbid|polic|rejected/i);
  assert.ok(!existsSync(join(session.home, 'denied')));
});
