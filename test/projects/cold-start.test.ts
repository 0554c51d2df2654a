import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTokens } from '../token-count.ts';
import { ScratchFolder } from './scratch-folder.ts';
import { fill, hoursAgo } from './shop.ts';

test('the brief shows each part with source and age, overdue todos, and the commits since the last update', async () => {
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
    ['State', 'Todos', 'Project', 'Decisions', 'Where we are', 'Commits since the last sync', 'Other todos'],
  );
  assert.ok(json.parts[0].age_seconds >= 5 * 3600 && json.tokens.at_most <= 1000);
  assert.match(
    stdout,
    /## Where we are \(git status\)\n- Uncommitted: \?\? form\.ts\n- Branch main at [0-9a-f]{9}\n/,
  );
  const result = await folder.relay(['project', 'start', '--for', '用户登录']);
  assert.match(
    result.stdout,
    /## About: 用户登录 \(todos\.json, decisions\.md\)\n- TODO-004 .*: 重构登录模块\n\n## State/,
  );
  assert.equal(json.text, stdout);
});

test('the brief stays within its budget, and parts about the task come first', async () => {
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
  assert.match(stdout, /\(\d+ lines omitted to stay within 400 tokens/);
  const refused = await folder.relay(['project', 'start', '--max-tokens', '10']);
  assert.equal(refused.code, 2);
});

test('the brief works without git and with missing files', async () => {
  using folder = new ScratchFolder();
  folder.write('todos.json', '{"todos": [{"id": "TODO-001", "title": "Only me", "status": "pending"}]}');
  const { stdout, code } = await folder.relay(['project', 'start']);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /! Missing: PROJECT\.md, state\.json, decisions\.md\. Create these files with: relay project init/,
  );
  assert.match(stdout, /! The todos were never reviewed/);
  assert.match(stdout, /TODO-001 \(pending, medium\): Only me/);
  using empty = new ScratchFolder();
  assert.equal((await empty.relay(['project', 'start'])).code, 3);
});

test('the brief of a hook uses its 1 000 tokens in every language, like the command', async () => {
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
    const context = JSON.parse(hook).hookSpecificOutput.additionalContext as string;
    const { tokens } = countTokens(context);
    assert.ok(tokens <= 1_000 && tokens > 900, `${language}: ${tokens}`);
  }
});
