import assert from 'node:assert/strict';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../src/app/config.ts';
import { openProject } from '../../src/app/projects/project-files.ts';
import { openRelay } from '../../src/app/store/open-relay.ts';
import { transferDraft } from '../../src/client/projects/transfer.ts';
import { countTokens } from '../token-count.ts';
import { ScratchFolder } from './scratch-folder.ts';
import { fill, hoursAgo } from './shop.ts';

test('a sub-agent gets its task first and the command to report; the parent sees open hand-offs', async () => {
  using folder = new ScratchFolder();
  fill(folder);
  const line = await folder.relay([
    'project',
    'handoff',
    'Port the parser',
    '--expect',
    'a test run',
    '--context',
    'https://r.example/pull/1',
  ]);
  assert.match(
    line.stdout,
    /^You are given HANDOFF-001 in .*relay project start --for HANDOFF-001\..*relay project report HANDOFF-001/,
  );
  const child = await folder.relay(['project', 'start', '--for', 'HANDOFF-001']);
  assert.match(
    child.stdout,
    /## Your task, HANDOFF-001 \(state\.json, given just now\)\n- Task: Port the parser\n- Expected: a test run\n- Read: https:\/\/r\.example\/pull\/1\n/,
  );
  await folder.relay(['project', 'report', '--result', 'done\nwith two lines', '--artifact', 'out.md'], {
    env: { RELAY_HANDOFF: 'HANDOFF-001' },
  });
  assert.match(
    (await folder.relay(['project', 'start'])).stdout,
    /HANDOFF-001 \(done, read its result: relay project result HANDOFF-001/,
  );
  const result = await folder.relay(['project', 'result', '1']);
  assert.equal(result.stdout, 'HANDOFF-001 done: Port the parser\n\ndone\nwith two lines\n- out.md\n');
  assert.ok(!(await folder.relay(['project', 'start'])).stdout.includes('HANDOFF-001'));
});

const SECRET = `ghp_${'a1B2c3D4'.repeat(5)}`;
const PRIVATE_KEY =
  '-----BEGIN PRIVATE KEY-----\nMIIBVQIBADANBg\nkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----\n';

test('a hand-off to another agent names the source of each part, and shows the lines of a small diff', async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  fill(folder);
  folder.write(
    'state.json',
    folder.read('state.json').replace('CORS needs a proxy', `CORS ${'needs a proxy and '.repeat(30)}`),
  );
  folder.write('kept.ts', 'one\n');
  folder.git('add', '.');
  folder.git('commit', '-qm', 'begin');
  folder.git('commit', '-q', '--allow-empty', '-m', 'about other files');
  folder.write('src/form.ts', 'new');
  folder.write('tea.go', 'package tea\n\nfunc Pour() {}\n');
  folder.write('notes.env.ts', `export const key = '${SECRET}';\n`);
  folder.write('.env', 'PASSWORD=hunter2\n');
  folder.write('PROJECT.md', `${folder.read('PROJECT.md')}- Never sweet\n`);
  folder.write('kept.ts', `one\n  two\n--- three\n${PRIVATE_KEY}`);
  const { stdout } = await folder.relay([
    'handoff',
    '--to',
    'codex',
    '--ask',
    'finish the form',
    '--context',
    'https://r.example/pull/2',
  ]);
  for (const heading of stdout.match(/^## .*$/gm)!) assert.match(heading, /\(.+\)$/);
  for (const expected of [
    `Work in ${folder.path}.\n`,
    '## The ask (given with this hand-off)\n- finish the form\n',
    '## To read (given with this hand-off; read a URL with relay pull)\n- https://r.example/pull/2\n',
    '- Constraint: Never cold\n',
    '- 2 files changed, +7 -0 lines, with project files [git diff HEAD --shortstat --no-renames --relative]\n',
    '- M kept.ts (+6 -0)\n  +  two\n  +--- three\n  +[redacted]\n',
    '- ?? src/\n',
    '- ?? tea.go\n  +package tea\n  +func Pour() {}\n',
    '- ?? .env\n',
  ]) {
    assert.ok(stdout.includes(expected), `${expected}\n${stdout}`);
  }
  assert.ok(!stdout.includes(SECRET) && !stdout.includes('hunter2') && !stdout.includes('MIIB'), stdout);
  assert.match(stdout, /^! Possible secrets were masked: git status, git diff HEAD/m);
  assert.match(stdout, /## Commits that changed these files \(git log\)\n- [0-9a-f]{9} \(just now\) begin\n/);
  assert.ok(countTokens(stdout).tokens <= 1000);
});

async function handOff(folder: ScratchFolder, to: string): Promise<string[]> {
  const project = openProject(folder.path);
  const transfer = { to, ask: null, pointers: [], thread: null };
  const { parts } = await transferDraft(project, await project.read(), transfer);
  return parts.flatMap(({ title, lines }) => [`## ${title}`, ...lines.map(({ text }) => text)]);
}

test('files about the task come first, with hunks and functions, and all counts are those of git', async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  fill(folder);
  const code = (n: number) => `export function limit${n}() {\n  return ${n};\n}\n\n`.repeat(3);
  for (const name of ['src/rateLimit.ts', 'src/colors.ts', 'old.ts', 'tsconfig.json', 'docs/limit.md'])
    folder.write(name, code(1));
  for (let n = 0; n < 46; n++) folder.write(`many/${n}.txt`, 'x\n');
  folder.write('logo.png', '\0\u0001');
  folder.write('same.png', '\0\u0001');
  folder.write('src/about.ts', 'never changed\n');
  folder.git('add', '.');
  folder.git('commit', '-qm', 'begin');
  await openProject(folder.path).sync({ task: 'Rate limits per address' });
  folder.write('src/rateLimit.ts', code(1).replace(/return 1;\n}\n\n$/, 'return 7;\n}\n\n'));
  folder.write('src/colors.ts', code(2));
  folder.write('tsconfig.json', code(3));
  folder.write('docs/limit.md', code(4));
  folder.write('logo.png', '\0\u0002');
  for (let n = 0; n < 46; n++) folder.write(`many/${n}.txt`, 'y\n');
  folder.git('mv', 'old.ts', 'new.ts');
  // Change only the time of this file. That does not count as a modification.
  utimesSync(join(folder.path, 'same.png'), 1, 1);
  folder.write('src/addresses.ts', 'new\n');

  const lines = await handOff(folder, 'codex');
  const files = lines.filter((line) => /^(?:M|R|\?\?) /.test(line));
  assert.deepEqual(
    files.slice(0, 3).map((line) => line.split(/[ :]/)[1]),
    ['src/rateLimit.ts', 'src/addresses.ts', 'src/colors.ts'],
    files.join('\n'),
  );
  assert.match(files[0]!, /^M src\/rateLimit\.ts \(\+1 -1\): @@ -10 \+10 @@ export function limit1\(\) \{$/);
  assert.ok(files.findIndex((line) => line.includes('tsconfig')) > 20, files.join('\n'));

  const [, all, added, removed] = lines.join('\n').match(/(\d+) files changed, \+(\d+) -(\d+) lines/)!;
  const stat = folder.git('diff', 'HEAD', '--shortstat', '--no-renames', '--relative');
  assert.deepEqual([all, added, removed], stat.match(/\d+/g), stat);
  const order = ['State', 'Project', 'Decisions', 'Files in flight', 'Todos', 'Layout'];
  const titles = lines.flatMap((line) => /^## (.*)/.exec(line)?.[1] ?? []);
  assert.deepEqual(
    titles.filter((title) => order.includes(title)),
    order,
  );
  assert.ok(lines.includes('In src/: addresses.ts, colors.ts, rateLimit.ts, about.ts'), lines.join('\n'));
  for (const header of files.flatMap((line) => line.match(/@@ [^@]* @@/g) ?? []))
    assert.ok(folder.git('diff', 'HEAD', '-U0', '--no-renames').includes(header), header);
});

test('a hand-off counts one changed file in the singular', async () => {
  using folder = new ScratchFolder();
  fill(folder);
  folder.git('init', '-q');
  folder.write('about.ts', 'one\n');
  folder.git('add', '-A');
  folder.git('commit', '-qm', 'begin');
  folder.write('about.ts', 'two\n');
  assert.match((await handOff(folder, 'codex')).join('\n'), /^1 file changed, \+\d+ -\d+ lines/m);
});

test('a hand-off names the files, tools and skill of the next client, and what is done', async () => {
  using folder = new ScratchFolder();
  fill(folder);
  folder.write('CLAUDE.md', 'Be brief.\n');
  folder.write('package.json', '{"scripts": {"test": "vitest"}}');
  await openProject(folder.path).sync({ done: ['boil water'] });
  const codex = (await handOff(folder, 'codex')).join('\n');
  assert.match(codex, /^## For Codex$/m);
  assert.match(codex, /Codex loads by itself: AGENTS\.md, which does not exist here/);
  assert.match(codex, /mcp__relay__NAME; .*\$context-relay/);
  assert.match(codex, /^Done: boil water$/m);
  assert.match(codex, /^Test: npm test = vitest \(package\.json\)$/m);
  for (const command of [
    ['handoff', '--to', 'codex'],
    ['project', 'start'],
  ])
    assert.match((await folder.relay(command)).stdout.split('\n\n')[0]!, /^Read CLAUDE\.md first\.$/m);
  const claude = (await handOff(folder, 'claude')).join('\n');
  assert.match(claude, /Claude Code loads by itself: CLAUDE\.md$/m);
  assert.match((await handOff(folder, 'gemini')).join('\n'), /GEMINI\.md[\s\S]*mcp_relay_NAME/);
  assert.match((await handOff(folder, 'my-bot')).join('\n'), /^Next: /m);
});

test('a hand-off can include a thread, and becomes a pointer with --push', async () => {
  using folder = new ScratchFolder();
  fill(folder);
  const config = loadConfig({}, { home: folder.home });
  let id = '';
  {
    await using open = await openRelay(config);
    const thread = await open.relay.threads.create({ name: 'tea' });
    id = thread.thread_id;
    const fact = { id: 'f1', key: 'water', value: 'hot', at: hoursAgo(1), by: 'ann' };
    const step = { id: 'p1', step: 'pour it', status: 'pending' };
    const ops = [
      { op: 'add', path: '/facts/-', value: fact },
      { op: 'add', path: '/plan/-', value: step },
    ];
    await open.relay.threads.patch(id, { ops } as never);
  }
  const { stdout, stderr } = await folder.relay(['handoff', '--to', 'gemini', '--thread', id.slice(0, 8)]);
  const heading = `## Thread (relay state header --thread ${id}, v2)`;
  assert.ok(stdout.includes(`${heading}\n- Next: pour it [p1]\n- Fact: water = hot [f1]\n`), stdout + stderr);
  const pushed = await folder.relay(['handoff', '--to', 'gemini', '--push']);
  const [url = '', , start] = pushed.stdout.split('\n');
  assert.equal(
    start,
    `gemini -i "Take over the work described in ${url} (read it with: relay pull ${url})."`,
  );
  const pulled = await folder.relay(['pull', url]);
  assert.match(pulled.stdout, /^# Hand-off to gemini: Shop\n/);
  const json = JSON.parse((await folder.relay(['handoff', '--to', 'gemini', '--push', '--json'])).stdout);
  assert.equal(
    json.start,
    `gemini -i "Take over the work described in ${json.url} (read it with: relay pull ${json.url})."`,
  );
});

test('a hand-off masks secrets and names their place, and a context file must exist', async () => {
  using folder = new ScratchFolder();
  fill(folder);
  await folder.relay(['project', 'sync', '--note', `${'the proxy '.repeat(18)}takes ${SECRET} for now`]);
  const key = 'https://r.example/pull/2#key=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq=';
  const { stdout, stderr } = await folder.relay(['handoff', '--to', 'codex', '--context', key]);
  assert.ok(!stdout.includes('ghp_'), stdout);
  assert.ok(stdout.includes(key), 'the key of a pointer that was given goes along');
  assert.match(stdout, /! Possible secrets were masked: state\.json\./);
  assert.match(stderr, /Possible secrets were masked: state\.json\./);
  for (const command of [
    ['handoff', '--to', 'codex'],
    ['project', 'handoff', 'Port it', '--expect', 'a test'],
  ]) {
    const refused = await folder.relay([...command, '--context', 'nowhere.md']);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /There is no file nowhere\.md in /);
  }
  assert.equal(folder.json('state.json').handoffs, undefined);
});

test('a sub-agent has a deadline; its parent can wait, and the exit code tells open from failed', async () => {
  using folder = new ScratchFolder();
  fill(folder);
  const give = (deadline: string) =>
    folder.relay(['project', 'handoff', 'Port it', '--expect', 'a test', '--deadline', deadline]);
  assert.match((await give('30m')).stdout, /Report by \d{4}-\d\d-\d\dT.*\. When done/);
  const waiting = folder.relay(['project', 'result', '1', '--wait']);
  await folder.relay(['project', 'report', '1', '--result', 'no compiler', '--failed']);
  const failed = await waiting;
  assert.equal(failed.code, 1);
  assert.match(failed.stdout, /^HANDOFF-001 failed: Port it\n\nno compiler\n/);
  await give('1s');
  const late = await folder.relay(['project', 'result', '--wait']);
  assert.equal(late.code, 5);
  const all = await folder.relay(['project', 'result', '--all']);
  assert.match(all.stdout, /HANDOFF-002 {2}overdue {2}Port it/);
  assert.match((await folder.relay(['project', 'start'])).stdout, /HANDOFF-002 \(overdue, due .*\): Port it/);
  assert.equal((await folder.relay(['project', 'check'])).code, 0);
  assert.equal((await give('99d')).code, 2);
});
