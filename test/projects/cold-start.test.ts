import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/app/config.ts';
import { openRelay } from '../../src/app/store/open-relay.ts';
import { countTokens } from '../../src/text/token-count.ts';
import { ScratchFolder } from './scratch-folder.ts';

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

function fill(folder: ScratchFolder): void {
  folder.write(
    'PROJECT.md',
    '# Shop\n\n## One-Line Description\nSells tea\n\n## Key Constraints\n- Never cold\n',
  );
  folder.write(
    'state.json',
    JSON.stringify({
      phase: 'development',
      current_task: 'Login',
      progress: {
        completed: ['Design'],
        in_progress: 'the form',
        blocked: ['mail: no account'],
        next_steps: ['Reset'],
      },
      last_update: hoursAgo(5),
      session_id: 'abc',
      notes: 'CORS needs a proxy',
    }),
  );
  folder.write(
    'todos.json',
    JSON.stringify({
      todos: [
        { id: 'TODO-001', title: 'Old', priority: 'low', status: 'completed', completed_at: hoursAgo(90) },
        {
          id: 'TODO-002',
          title: 'Search page',
          priority: 'high',
          status: 'pending',
          created: hoursAgo(72),
          updated: null,
          notes: '',
        },
        {
          id: 'TODO-003',
          title: 'Mail',
          priority: 'medium',
          status: 'blocked',
          created: hoursAgo(72),
          updated: hoursAgo(50),
          notes: 'Blocked: no account',
        },
        { id: 'TODO-004', title: '重构登录模块', priority: 'low', status: 'pending', created: hoursAgo(72) },
      ],
      last_review: hoursAgo(49),
    }),
  );
  folder.write(
    'decisions.md',
    '# Decisions\n\n## ADR-001: Cookies\n- Status: Accepted\n- Decision: cookies for the login\n\n## ADR-002: Tokens\n- Date: 2026-04-16\n- Status: Accepted\n- Supersedes: ADR-001\n- Decision: tokens instead\n\n## ADR-003: Icons\n- Decision: own icons\n',
  );
}

test('the brief has each part with its source and age, what is overdue, and what was committed since', async () => {
  using folder = new ScratchFolder();
  fill(folder);
  folder.git('init', '-q', '-b', 'main');
  folder.git('add', '.');
  folder.git('commit', '-qm', 'long ago', '--date', hoursAgo(90));
  const dated = { GIT_COMMITTER_DATE: hoursAgo(1) };
  Object.assign(process.env, dated);
  folder.git('commit', '-q', '--allow-empty', '-m', 'fix the\u202e form');
  delete process.env.GIT_COMMITTER_DATE;
  folder.write('form.ts', 'new');
  const { stdout, code } = await folder.relay(['project', 'start']);
  assert.equal(code, 0);
  for (const expected of [
    '# Project brief: Shop',
    '! The todos were last reviewed 2 days ago. Look through them: relay todo review',
    '## Project (PROJECT.md, changed just now)',
    '- Sells tea',
    '- Constraint: Never cold',
    '## State (state.json, synced 5 h ago)',
    '- Task: Login',
    '- Blocked: mail: no account',
    '- Next: Reset',
    '- Notes: CORS needs a proxy',
    '## Todos (todos.json, reviewed 2 days ago)',
    '- TODO-003 (blocked, medium, 2 days ago): Mail - Blocked: no account',
    '- TODO-002 (pending, high, 3 days ago): Search page',
    '- ADR-002 (2026-04-16, Accepted) Tokens: tokens instead',
  ]) {
    assert.ok(stdout.split('\n').includes(expected), `${expected}\n\n${stdout}`);
  }
  assert.match(stdout, /## Commits since the last sync \(git log\)\n- [0-9a-f]{9} \(.*\) fix the form\n/);
  assert.ok(
    !stdout.includes('ADR-001') && !stdout.includes('TODO-001'),
    'what is done or replaced is left out',
  );
  assert.ok(countTokens(stdout).tokens <= 1000);

  const json = JSON.parse((await folder.relay(['project', 'start', '--json'])).stdout);
  assert.deepEqual(
    json.parts.map(({ title }: { title: string }) => title),
    [
      'Where we are',
      'State',
      'Project',
      'Todos',
      'Decisions',
      'Done',
      'Commits since the last sync',
      'Other todos',
    ],
  );
  assert.ok(json.parts[1].age_seconds >= 5 * 3600 && json.tokens.at_most <= 1000);
  assert.match(
    stdout,
    /## Where we are \(git status\)\n- Branch main at [0-9a-f]{9}\n- Uncommitted: \?\? form\.ts\n/,
  );
  const asked = await folder.relay(['project', 'start', '--for', '用户登录']);
  assert.match(
    asked.stdout,
    /## About: 用户登录 \(todos\.json, decisions\.md\)\n- TODO-004 .*: 重构登录模块\n\n## Where/,
  );
  assert.equal(json.text, stdout);
});

test('a budget is kept, and what the task is about comes first', async () => {
  using folder = new ScratchFolder();
  fill(folder);
  const many = Array.from(
    { length: 120 },
    (_, n) =>
      `\n## ADR-${String(n + 4).padStart(3, '0')}: Topic ${n}\n- Decision: something about number ${n}\n`,
  );
  folder.write('decisions.md', folder.read('decisions.md') + many.join(''));
  const { stdout } = await folder.relay([
    'project',
    'start',
    '--for',
    'draw new icons',
    '--max-tokens',
    '400',
  ]);
  assert.ok(countTokens(stdout).tokens <= 400);
  assert.match(stdout, /ADR-003 Icons: own icons/);
  assert.match(stdout, /\(\d+ lines left out to stay within 400 tokens/);
  const refused = await folder.relay(['project', 'start', '--max-tokens', '10']);
  assert.equal(refused.code, 2);
});

test('it works without git and with files missing', async () => {
  using folder = new ScratchFolder();
  folder.write('todos.json', '{"todos": [{"id": "TODO-001", "title": "Only me", "status": "pending"}]}');
  const { stdout, code } = await folder.relay(['project', 'start']);
  assert.equal(code, 0);
  assert.match(stdout, /! Missing: PROJECT\.md, state\.json, decisions\.md\. relay project init/);
  assert.match(stdout, /! The todos were never reviewed/);
  assert.match(stdout, /TODO-001 \(pending, medium\): Only me/);
  using empty = new ScratchFolder();
  assert.equal((await empty.relay(['project', 'start'])).code, 3);
});

test('a sub-agent gets its task first and the line to report with; the parent sees what waits', async () => {
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
    /HANDOFF-001 \(done, its result waits: relay project result HANDOFF-001/,
  );
  const result = await folder.relay(['project', 'result', '1']);
  assert.equal(result.stdout, 'HANDOFF-001 done: Port the parser\n\ndone\nwith two lines\n- out.md\n');
  assert.ok(!(await folder.relay(['project', 'start'])).stdout.includes('HANDOFF-001'));
});

test('a hand-off to another agent has evidence on every line', async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  fill(folder);
  folder.write(
    'state.json',
    folder.read('state.json').replace('CORS needs a proxy', `CORS ${'needs a proxy and '.repeat(30)}`),
  );
  folder.git('add', '.');
  folder.git('commit', '-qm', 'begin');
  folder.write('src/form.ts', 'new');
  const { stdout } = await folder.relay([
    'handoff',
    '--to',
    'codex',
    '--ask',
    'finish the form',
    '--context',
    'https://r.example/pull/2',
  ]);
  const lines = stdout.split('\n').filter((line) => line.startsWith('- '));
  for (const line of lines) assert.match(line, /\[[^\]]+\]$/);
  for (const expected of [
    '- finish the form [asked for with this hand-off]',
    '- ?? src/ [git status]',
    '- https://r.example/pull/2 [relay pull]',
  ]) {
    assert.ok(lines.includes(expected), `${expected}\n${stdout}`);
  }
  assert.match(stdout, /ADR-002 .* \[decisions\.md:7\]/);
  assert.match(stdout, /begin \(just now\) \[git [0-9a-f]{9}\]/);
  assert.ok(countTokens(stdout).tokens <= 1000);
});

test('a hand-off takes a thread along, and becomes a pointer with --push', async () => {
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
  assert.match(stdout, new RegExp(`- Next: pour it \\[thread ${id} v2 p1\\]`), stderr);
  assert.match(stdout, new RegExp(`- Fact: water = hot \\[thread ${id} v2 f1\\]`));
  const pushed = await folder.relay(['handoff', '--to', 'gemini', '--push']);
  const pulled = await folder.relay(['pull', pushed.stdout.trim()]);
  assert.match(pulled.stdout, /^# Hand-off to gemini: Shop\n/);
  const json = JSON.parse((await folder.relay(['handoff', '--to', 'gemini', '--push', '--json'])).stdout);
  assert.equal(
    json.start,
    `gemini -i "Take over the work described in ${json.url} (read it with: relay pull ${json.url})."`,
  );
});

test('a hook fills its 1 000 tokens in every language, as the command does', async () => {
  const texts: Record<string, (n: number) => string> = {
    Chinese: (n) => `重构用户登录模块并在发布之前完成所有测试，第${n}部分`,
    Arabic: (n) => `إعادة كتابة وحدة تسجيل الدخول قبل الإصدار القادم، الجزء ${n}`,
    code: (n) =>
      `Fix src/parser/read_tokens_${n}.ts: readTokens(doc?.find(['todos'])) !== undefined && x[${n}]`,
  };
  for (const [language, text] of Object.entries(texts)) {
    using folder = new ScratchFolder();
    fill(folder);
    const todos = Array.from({ length: 120 }, (_, n) => ({
      id: `TODO-${n + 1}`,
      title: text(n),
      priority: 'medium',
      status: 'pending',
      created: hoursAgo(72),
    }));
    folder.write('todos.json', JSON.stringify({ todos, last_review: hoursAgo(1) }));
    const { stdout: hook } = await folder.relay(['hook', 'claude', 'session-start'], { stdin: '{}' });
    const told = JSON.parse(hook).hookSpecificOutput.additionalContext as string;
    const { tokens } = countTokens(told);
    assert.ok(tokens <= 1_000 && tokens > 900, `${language}: ${tokens}`);
  }
});
