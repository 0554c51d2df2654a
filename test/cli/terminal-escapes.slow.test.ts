import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startFakeModel } from '../../examples/fake-model.ts';
import { runHere } from './in-process.ts';
import { atTerminal, temporaryHome } from './program.ts';

/** Escape codes for title, clipboard, clear screen, color, cursor up and bell, with ESC and with C1. */
const CODES = '\u001b]0;owned\u0007\u001b]52;c;b3duZWQ=\u0007\u001b[2J\u001b[31m\u001b[9A\u009b31m\u0008';
const EVIL = `before ${CODES}after`;
/** The hostile text as an argument of `printf` in a shell. */
const PRINTED = String.raw`before \033]0;owned\007\033[2J\033[31m\302\2331mafter`;

const place = temporaryHome();
const { home } = place;
after(() => place[Symbol.dispose]());
const created: { [name: string]: string } = {};

async function stdoutOf(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runHere(args, { home, stdin: EVIL });
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

/**
 * Fails if the output has escape codes, except the codes with which `relay` redraws the lines of a running pipeline.
 * Also fails if the output lacks the escaped form of ESC.
 */
function assertHarmless(name: string, output: string): void {
  const ours = output.replaceAll(/\u001b\[\d+A\u001b\[J/g, '');
  const [raw] = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f].{0,20}/s.exec(ours) ?? [];
  assert.equal(raw, undefined, `${name}: ${JSON.stringify(output)}`);
  assert.match(output, /\\u001b/, `${name} does not show it: ${JSON.stringify(output)}`);
}

before(async () => {
  created.url = await stdoutOf('push', '-c', 'evil', '-m', `note=${EVIL}`);
  created.thread = await stdoutOf('thread', 'new', '--name', `a ${EVIL}`);
  created.ref = await stdoutOf('artifact', 'put', '-', '--name', `n ${EVIL}.txt`);
  const fact = { op: 'add', path: '/facts/-', value: { id: 'f', key: EVIL, value: EVIL } };
  await stdoutOf('state', 'patch', '--json', JSON.stringify([fact]));
  await stdoutOf('publish', 'evil', `signal ${EVIL}`);
  writeFileSync(join(home, 'large.txt'), `${EVIL}\n`.repeat(3_000));
  created.large = await stdoutOf('push', join(home, 'large.txt'));
  const program = join(home, 'program.sh');
  writeFileSync(program, `#!/bin/sh\nprintf '${PRINTED}'\nprintf 'complaint ${PRINTED}' >&2\n`);
  chmodSync(program, 0o755);
});

test('every command shows stored content without its escape codes at a terminal', async () => {
  const { url, thread, ref, large } = created;
  const lines: { [name: string]: string } = {
    pull: `$relay pull ${url}`,
    'a large pull': `$relay pull ${large} | tail -c 1 >/dev/null; $relay pull ${large} > /dev/tty`,
    'pull --lines': `$relay pull ${url} --lines 1`,
    'pull --json': `$relay pull ${url} --json`,
    peek: `$relay peek ${url}`,
    'artifact get': `$relay artifact get ${ref} -t ${thread}`,
    'artifact list': `$relay artifact list -t ${thread}`,
    show: `$relay show ${thread}`,
    runs: '$relay runs',
    tail: `$relay tail --all -t ${thread}`,
    'state get': `$relay state get -t ${thread}`,
    'state header': `$relay state header -t ${thread}`,
    search: `$relay artifact search before -t ${thread}`,
    watch: '$relay watch evil --since all --count 2',
    'watch --exec': "$relay watch evil --since all --count 1 --exec 'cat; cat /dev/null >&2'",
  };
  for (const [name, line] of Object.entries(lines)) {
    const { stdout } = await atTerminal(line, { home });
    if (name === 'search' || name === 'state header') {
      // These texts were sanitized for models when they were created, so the output lacks the escaped form of ESC.
      // Append it, because `assertHarmless` requires it.
      assert.match(stdout, /before/, name);
      assertHarmless(name, `${stdout}\\u001b`);
    } else assertHarmless(name, stdout);
  }
});

test('output of models and programs is shown without their escape codes', async () => {
  await using model = await startFakeModel(() => EVIL);
  const env = { ...model.env };
  const pipeline = join(home, 'evil.yaml');
  writeFileSync(
    pipeline,
    `agents: {good: {shell: ./program.sh}, bad: {shell: './program.sh; exit 3'}}
steps:
  - {id: said, agent: good}
  - {id: failing, agent: bad}
`,
  );
  writeFileSync(join(home, 'task.txt'), EVIL);
  for (const [name, line] of Object.entries({
    run: '$relay run "say it" --new',
    'run --cli': '$relay run "say it" --new --cli ./program.sh',
    'wrap run': '$relay wrap run "say it" --new --cli ./program.sh',
    pipeline: `$relay pipeline run ${pipeline}`,
    bridge: `$relay bridge start --exec './program.sh; exit 3' & $relay bridge send --file task.txt --wait; kill -INT $!; wait`,
  })) {
    assertHarmless(name, (await atTerminal(line, { home, env })).stdout);
  }
});

test('error texts of a server are shown without their escape codes', async () => {
  const server = createServer((_, response) =>
    response
      .writeHead(500, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ error: 'no', hint: EVIL })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stdout } = await atTerminal(`$relay pull ${url}/pull/${crypto.randomUUID()}`, { home });
  server.closeAllConnections();
  server.close();
  assertHarmless('an error', `${stdout}\\u001b`);
  const wrong = await atTerminal(`$relay "$WORD"`, { home, env: { WORD: `x${CODES}` } });
  assertHarmless('an unknown command', wrong.stdout);
});

test('bytes stay unchanged in a pipe, and with --force at a terminal', async () => {
  assert.equal(await runHere(['pull', created.url!], { home }).then(({ stdout }) => stdout), EVIL);
  const result = await runHere(['artifact', 'get', created.ref!, '-t', created.thread!], { home });
  assert.equal(result.stdout, EVIL);
  const { stdout } = await atTerminal(`$relay pull ${created.url} --force`, { home });
  assert.ok(stdout.includes('\u001b[2J'));
});
