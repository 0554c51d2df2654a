import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { commandTree } from './commands/completion.ts';
import { ROOT } from './commands.ts';
import type { Host } from './host.ts';
import type { Output, Terminal } from './io.ts';
import { type Globals, runCli } from './run.ts';

/** A host with only the services that the commands in this file use. */
const host = { program: { version: '1.2.3' }, home: '/nowhere' } as Host;

function output(): Output & { text: string } {
  return {
    text: '',
    isTTY: false,
    columns: 80,
    write(data) {
      this.text += String(data);
    },
    send: async () => {},
    stream: new PassThrough(),
  };
}

async function call(...argv: string[]) {
  const [stdout, stderr] = [output(), output()];
  const stdin = { isTTY: false, stream: new PassThrough(), take: async () => null };
  const terminal: Terminal = { stdin, stdout, stderr, env: {}, cwd: '/' };
  let globals: Globals = {};
  const code = await runCli(argv, terminal, (given) => {
    globals = given;
    return host;
  });
  return { code, out: stdout.text, err: stderr.text, globals };
}

test('without a command the help is shown', async () => {
  const { code, out } = await call();
  assert.equal(code, 0);
  assert.match(out, /relay <command>/);
});

test('--help and the command help show the same', async () => {
  const [flag, word] = [await call('up', '--help'), await call('help', 'up')];
  assert.equal(flag.code, 0);
  assert.equal(flag.out, word.out);
  assert.match(flag.out, /relay up --detach/);
});

test('every command has a summary, an example and fits its help into a terminal', async () => {
  const leaves = (await commandTree(ROOT)).filter(({ offers }) => offers.every(({ summary }) => !summary));
  for (const { path: name } of leaves) {
    const { code, out } = await call(...name.split(' '), '--help');
    assert.equal(code, 0, name);
    assert.match(out, /Examples\n {2}\S/, name);
    const usage = out.slice(0, out.indexOf('Examples\n'));
    const prose = usage.split('\n').filter((line) => !line.startsWith('Usage'));
    for (const line of prose) assert.ok(line.length <= 80, `${name}: ${line}`);
  }
});

test('a misspelled command suggests the nearest one', async () => {
  const { code, err, out } = await call('pussh');
  assert.equal(code, 2);
  assert.equal(out, '');
  assert.match(err, /There is no command "relay pussh"\.\n {2}→ Did you mean: relay push\?/);
});

test('command and option names of other tools suggest ours', async () => {
  assert.match((await call('serve')).err, /Did you mean: relay up\?/);
  assert.match((await call('cat')).err, /Did you mean: relay pull\?/);
  assert.match((await call('todo', 'ls')).err, /Did you mean: relay todo list\?/);
  assert.match((await call('push', '--metadata', 'a=b')).err, /Did you mean: --meta\?/);
  assert.match((await call('bridge', 'start', '--as', 'ada')).err, /Did you mean: --name\?/);
});

test('a sentence without quotes is suggested with quotes', async () => {
  const { code, err } = await call('todo', 'add', 'Docs', 'for', 'the', 'API');
  assert.equal(code, 2);
  assert.match(err, /→ Put the words in quotes: relay todo add "Docs for the API"/);
  assert.match((await call('decide', 'Use', 'JWT')).err, /→ Put the words in quotes: relay decide "Use JWT"/);
  assert.match((await call('push', 'a.md', 'b.md')).err, /→ Usage: relay push \[file\|-\]/);
});

test('a missing required option is named in the error', async () => {
  assert.match((await call('handoff')).err, /--to is missing\.\n {2}→ Pass a short text: --to "…"/);
});

test('nothing is suggested if no name is similar', async () => {
  assert.match((await call('xyzzy')).err, /See relay --help/);
});

test('a misspelled option suggests the nearest one', async () => {
  const { code, err } = await call('up', '--detatch');
  assert.equal(code, 2);
  assert.match(err, /relay up has no option --detatch\.\n {2}→ Did you mean: --detach\?/);
});

test('an option without its value and an option with an extra value have different errors', async () => {
  assert.match((await call('up', '--port')).err, /--port needs a value/);
  assert.match((await call('up', '--detach=yes')).err, /--detach takes no value/);
});

test('short options may be joined, and a separate value may be a dash or a negative number', async () => {
  assert.match((await call('tail', '-fx')).err, /relay tail has no option -x\./);
  assert.match((await call('tail', '-fn')).err, /--count needs a value/);
  assert.match((await call('tail', '-n', '--follow')).err, /--count needs a value.\n.*write --count=VALUE/);
  assert.match((await call('version', '--constructor')).err, /has no option --constructor/);
  for (const [home, ...argv] of [
    ['-', '--home', '-'],
    ['-5', '--home', '-5'],
    ['--x=y', '--home=--x=y'],
    ['/b', '--home', '/a', '--home', '/b'],
  ])
    assert.equal((await call('version', ...argv)).globals.home, home);
});

test('missing or extra arguments are rejected with the usage', async () => {
  assert.match((await call('peek')).err, /relay peek <url>/);
  assert.match((await call('version', 'x')).err, /relay version does not accept the argument "x"/);
  assert.equal((await call('version', 'x')).code, 2);
});

test('global options may be before or after the command', async () => {
  for (const argv of [
    ['--home', '/a', '--url=http://b', 'version'],
    ['version', '--url', 'http://b', '--home=/a'],
  ]) {
    assert.deepEqual((await call(...argv)).globals, { home: '/a', url: 'http://b' });
  }
});

test('a command of the local store rejects --url instead of ignoring it', async () => {
  const commands = [
    'init',
    'prune',
    'du',
    'backup b',
    'restore b',
    'engine copy a b',
    'engine reopen a',
    'down',
  ];
  for (const command of commands) {
    const { code, out, err } = await call(...command.split(' '), '--url', 'http://b');
    assert.deepEqual([code, out], [2, ''], command);
    assert.match(
      err,
      /^error relay [a-z ]+ works only on the local store, not with --url\.\n {2}→ Omit --url/,
    );
    assert.match((await call(...command.split(' '), '--help')).out, /Works only on the local store/, command);
  }
  assert.match((await call('push', '--help')).out, /--json, --home DIR, --url URL;/);
});

test('a2a tasks --cancel without a task is an error, not a list', async () => {
  const { code, err } = await call('a2a', 'tasks', 'http://127.0.0.1:1', '--cancel');
  assert.equal(code, 2);
  assert.match(err, /--cancel needs the id of a task/);
});

test('the result is JSON with --json and with --output json', async () => {
  for (const flag of [['--json'], ['--output', 'json']]) {
    assert.equal(JSON.parse((await call('version', ...flag)).out).version, '1.2.3');
  }
  assert.equal((await call('version')).out, '1.2.3\n');
  assert.equal((await call('--version')).out, '1.2.3\n');
});

test('an error is JSON with --json, on stderr', async () => {
  const { out, err } = await call('version', 'x', '--json');
  assert.equal(out, '');
  assert.deepEqual(Object.keys(JSON.parse(err)), ['error', 'code', 'hint']);
});
