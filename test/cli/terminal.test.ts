import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { atTerminal, relay, temporaryHome } from './program.ts';

const place = temporaryHome();
const { home } = place;
after(() => place[Symbol.dispose]());

/** Skips the tests if `script`, which gives a program a terminal, is not installed. */
const options = { skip: existsSync('/usr/bin/script') ? false : 'there is no script(1) here' };

test('at a terminal a push prints pointer, size, tokens and expiry', options, async () => {
  writeFileSync(join(home, 'notes.md'), 'hello, agent\n');
  const { stdout } = await atTerminal('$relay push notes.md --ttl 2h', { home });
  assert.match(stdout, /http:\/\/127\.0\.0\.1:7474\/pull\/[0-9a-f-]{36}\r\n/);
  assert.match(
    stdout,
    /13 bytes · 4 tokens \(o200k_base\) · expires in 2 hours, (today|tomorrow) at \d\d:\d\d/,
  );
});

test('a large push shows a progress bar and clears it', options, async () => {
  writeFileSync(join(home, 'large.bin'), Buffer.alloc(6 * 1024 * 1024, 'large '));
  const { stdout } = await atTerminal('$relay push large.bin --no-count', { home });
  assert.match(stdout, /large\.bin {2}[█░]+ +\d+ % .* of 6 MiB/);
  assert.match(
    stdout,
    /\u001b\[G\u001b\[Khttp:\/\/127\.0\.0\.1:7474\/pull\/[0-9a-f-]{36}\r\nrelay:\d+ · 6 MiB · expires/,
  );
});

test('at a terminal a peek is a table with escaped control characters', options, async () => {
  const pushed = await relay(['push', '--meta', 'note=a\u001b]0;owned\u0007b'], { home, stdin: 'x' });
  const { stdout } = await atTerminal(`$relay peek ${pushed.stdout.trim()}`, { home });
  assert.match(stdout, /size +1 byte\r\n/);
  assert.match(stdout, /expires +in 24 hours, tomorrow at/);
  assert.match(stdout, /note +a\\u001b\]0;owned\\u0007b\r\n/);
});

test('binary data is printed to a terminal only with --force', options, async () => {
  const { stdout: url } = await relay(['push'], { home, stdin: Buffer.from([1, 2, 0, 255, 254]) });
  const refused = await atTerminal(`$relay pull ${url.trim()}; echo "exit $?"`, { home });
  assert.match(refused.stdout, /is binary .*\r\n.*--out FILE.*--force.*\r\nexit 2\r\n$/s);
  const forced = await atTerminal(`$relay pull ${url.trim()} --force; echo "exit $?"`, { home });
  assert.match(forced.stdout, /exit 0\r\n$/);
});

test('colors are used at a terminal, and NO_COLOR turns them off', options, async () => {
  const painted = await atTerminal('$relay --help', { home, env: { NO_COLOR: '' } });
  assert.ok(painted.stdout.includes('\u001b['));
  const plain = await atTerminal('$relay --help; $relay up --bogus', { home });
  assert.ok(!plain.stdout.includes('\u001b['));
  const piped = await relay(['--help'], { home });
  assert.ok(!piped.stdout.includes('\u001b['));
});

test('a push without input fails at a terminal instead of waiting', options, async () => {
  const { stdout } = await atTerminal('$relay push; echo "exit $?"', { home });
  assert.match(stdout, /nothing to push.*exit 2/s);
});

test('at a terminal, lists and searches say that they are empty', options, async () => {
  const { stdout } = await atTerminal(
    '$relay inbox --as ada; $relay session list; $relay session list --all; $relay session search tea; echo "exit $?"',
    { home, env: { HOME: home } },
  );
  assert.equal(
    stdout.replaceAll('\r', ''),
    `No new messages for ada. ada follows no channel. Follow one with: relay follow CHANNEL --as ada
no sessions in this repository; list all with: relay session list --all
no coding agent has a session on this machine
No turn matches.
exit 1
`,
  );
});

test('a message to an agent that has not started yet waits in its inbox', options, async () => {
  const { stdout } = await atTerminal('$relay send bert hello --queue', { home });
  assert.match(stdout, /^\S+ {2}bert {2}waits in its inbox\r\n$/);
});

test('a list of open questions says when each expires', options, async () => {
  await relay(['ask', 'Deploy?', '--no-wait'], { home });
  const { stdout } = await atTerminal('$relay approve --list', { home });
  assert.match(stdout, / · expires in 7 days, .*\r\n {2}Deploy\?/);
});

test('relay up offers another port if the port is taken, and accepts no', options, async () => {
  // Ignore socket errors: a client may end its connection with a reset.
  const squatter = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  const { port } = squatter.address() as { port: number };
  try {
    const { stdout } = await atTerminal(`$relay up --port ${port}; echo "exit $?"`, { home, stdin: 'n\n' });
    assert.match(stdout, /is taken by .* Listen on \d+ instead\? \[Y\/n\]/);
    assert.match(stdout, /exit 1\r\n$/);
  } finally {
    squatter.close();
  }
});
