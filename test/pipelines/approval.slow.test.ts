import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { noBrowser, openBrowser } from '../browser/chromium.ts';
import { atTerminal, cleanEnv, ENTRY, NODE, relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';

const YAML = `name: post
agents: { sh: { shell: true } }
notify: 'printf "%s|%s" "$RELAY_QUESTION" "$RELAY_QUESTION_LINK" > notified'
steps:
  - { id: write, agent: sh, prompt: 'echo once >> written; echo the text' }
  - { id: ok, approve: "Post {{ steps.write.output }}?", needs: [write] }
  - { id: post, agent: sh, needs: [ok], prompt: 'echo posted' }
`;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('a run that waits for a person survives kills of everything and goes on through a link', {
  skip: noBrowser,
}, async () => {
  using at = temporaryHome();
  const { home } = at;
  const env = { RELAY_PORT: String(await freePort()) };
  writeFileSync(join(home, 'post.yaml'), YAML);
  const start = (...args: string[]): ChildProcess & { text(): string } => {
    const child = spawn(NODE, [ENTRY, ...args], { env: cleanEnv({ home, env }), cwd: home, stdio: 'pipe' });
    let out = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (out += chunk));
    return Object.assign(child, { text: () => out });
  };
  const killed = async (child: ChildProcess) => {
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
  };
  const running = start('pipeline', 'run', 'post.yaml');
  await until(() => /or open http/.test(running.text()));
  const url = /or open (http\S+)/.exec(running.text())![1]!;
  const notified = join(home, 'notified');
  await until(() => existsSync(notified) && readFileSync(notified, 'utf8') === `Post the text?|${url}`);
  await killed(running);
  const first = start('up');
  await until(() => /127\.0\.0\.1/.test(first.text()));
  await killed(first);
  const server = start('up');
  try {
    await until(async () => (await fetch(new URL('/health', url)).catch(() => null))?.ok === true);
    await using browser = await openBrowser();
    const page = await browser.newPage();
    await page.goto(url);
    assert.match(await page.innerText('main'), /Post the text\?/);
    const o = { home, env };
    const open = JSON.parse((await relay(['approve', '--list', '--json'], o)).stdout).questions;
    assert.equal(open.length, 1, 'opening the link answers nothing');
    await page.fill('input[name=comment]', 'fine');
    await page.click('button[value=approve]');
    assert.match(await page.innerText('main'), /Your answer was recorded: approve/);
    await page.goto(url);
    assert.match(await page.innerText('main'), /no longer works/);
    const resumed = await relay(['pipeline', 'run', 'post.yaml', '--resume', '--json'], o);
    assert.equal(resumed.code, 0, resumed.stderr);
    const { run, status } = JSON.parse(resumed.stdout);
    assert.equal(status, 'done');
    assert.equal(readFileSync(join(home, 'written'), 'utf8'), 'once\n');
    const events = await (await fetch(new URL(`/threads/${run}/events`, url))).text();
    assert.match(events, /"question\.answered"/);
    assert.match(events, /"via": ?"link"/);
  } finally {
    await killed(server);
  }
});

test('relay approve answers at a terminal, and refuses without one and in the shell of an agent', async () => {
  using at = temporaryHome();
  const o = { home: at.home };
  const { id } = JSON.parse(
    (await relay(['ask', 'Ship it?', '--choices', 'yes,no', '--no-wait', '--json'], o)).stdout,
  );
  const refused = await relay(['approve', id, 'yes'], o);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /A person must answer at a terminal/);
  const line = `${NODE} ${ENTRY} approve ${id}`;
  const agent = await atTerminal(`CLAUDECODE=1 ${line} yes`, o);
  assert.match(agent.stdout + agent.stderr, /belongs to an agent: CLAUDECODE is set/);
  const answered = await atTerminal(`${line} yes --comment ok`, o);
  assert.match(answered.stdout + answered.stderr, /answered q_/);
  const listed = await relay(['approve', '--list'], o);
  assert.equal(listed.stdout.trim(), '');
});
