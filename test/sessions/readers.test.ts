import assert from 'node:assert/strict';
import { appendFileSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findSession, listSessions, readTurns } from '../../src/app/sessions/transcripts.ts';
import type { SessionInfo, Turn } from '../../src/client/sessions/transcript.ts';
import type { ScratchFolder } from '../projects/scratch-folder.ts';
import { restoreSession } from './recordings.ts';
import { OWN_SCRIPTS } from './scripts-own.ts';
import { PLAIN_SCRIPTS } from './scripts-plain.ts';

const SCRIPTS = [...OWN_SCRIPTS, ...PLAIN_SCRIPTS];
const placesOf = (folder: ScratchFolder, env = {}) => ({ home: folder.home, env });

async function only(folder: ScratchFolder): Promise<SessionInfo> {
  const sessions = await listSessions(placesOf(folder), { folder: folder.path });
  assert.equal(sessions.length, 1, JSON.stringify(sessions));
  return sessions[0]!;
}

for (const client of ['claude', 'codex', 'gemini', 'opencode'] as const) {
  test(`a recorded session of ${client} has every prompt, message, command, exit code and file, in order`, async () => {
    const script = SCRIPTS.find((each) => each.client === client)!;
    using folder = await restoreSession(script);
    const session = await only(folder);
    assert.equal(session.client, client);
    assert.equal(session.folder, folder.path);
    assert.equal(session.task, script.exchanges[0]!.prompt);
    const tally = { skipped: 0 };
    const turns: Turn[] = await Array.fromAsync(readTurns(session, tally));
    assert.equal(tally.skipped, 0);
    assert.deepEqual(
      turns.map(({ n }) => n),
      turns.map((_, index) => index + 1),
    );
    const textsBy = (who: Turn['who']) => turns.filter((turn) => turn.who === who).map(({ text }) => text);
    assert.deepEqual(
      textsBy('user'),
      script.exchanges.map(({ prompt }) => prompt),
    );
    const expectedTexts = script.exchanges.flatMap(({ steps, answer }) => [
      ...steps.flatMap(({ say }) => say ?? []),
      answer,
    ]);
    assert.deepEqual(textsBy('agent'), expectedTexts);
    const steps = script.exchanges.flatMap((exchange) => exchange.steps);
    const run = steps.flatMap((step) => ('run' in step ? step.run : []));
    const commands = turns.flatMap(({ tool }) => (tool?.command === undefined ? [] : [tool]));
    const ownCommands = commands.filter(
      ({ command }) => !command!.startsWith('cat ') || run.includes(command!),
    );
    assert.deepEqual(
      ownCommands.map(({ command }) => command),
      run,
    );
    assert.ok(ownCommands.some(({ exit, failed }) => failed && exit !== 0 && exit !== null));
    assert.ok(ownCommands.some(({ exit, failed }) => !failed && exit === 0));
    const changed = turns.flatMap(({ tool }) => tool?.files.filter(({ how }) => how !== 'read') ?? []);
    const edits = steps.flatMap((step) => ('write' in step ? step.write : 'edit' in step ? step.edit : []));
    assert.deepEqual(
      changed.map(({ path }) => path),
      edits.map((path) => join(folder.path, path)),
    );
    const todos = steps.findLast((step) => 'todos' in step);
    if (todos) assert.deepEqual(turns.findLast((turn) => turn.todos)?.todos, todos.todos);
  });
}

test('a transcript that is being written is read up to its last whole line, and unknown lines are counted', async () => {
  using folder = await restoreSession(SCRIPTS.find(({ client }) => client === 'claude')!);
  const session = await only(folder);
  const before = await Array.fromAsync(readTurns(session));
  appendFileSync(
    session.file,
    '{"type":"from-the-future","x":1}\nno json\n{"type":"user","message":{"content":"half',
  );
  const tally = { skipped: 0 };
  assert.deepEqual(await Array.fromAsync(readTurns(session, tally)), before);
  assert.equal(tally.skipped, 2);
});

test('turns after a prompt that the user rewound are marked as abandoned', async () => {
  using folder = await restoreSession(SCRIPTS.find(({ name }) => name === 'port-clash')!);
  const session = await only(folder);
  const lines = readFileSync(session.file, 'utf8').split('\n').filter(Boolean);
  const prompts = lines
    .map((line) => JSON.parse(line))
    .filter((line) => typeof line.message?.content === 'string');
  // Simulate a user who rewinds to before the second prompt and enters another one.
  const again = {
    ...prompts[1],
    uuid: 'new-1',
    promptId: 'new',
    message: { role: 'user', content: 'Other words.' },
  };
  appendFileSync(session.file, `${JSON.stringify(again)}\n`);
  const turns = await Array.fromAsync(readTurns(session));
  const prompted = turns
    .filter(({ who }) => who === 'user')
    .map(({ text, abandoned }) => [text.slice(0, 12), abandoned ?? false]);
  assert.deepEqual(prompted, [
    ['The smoke te', false],
    ['Default 9191', true],
    ['Then create ', true],
    ['Other words.', false],
  ]);
});

test('transcripts are found in the folders that variables of the clients name, and are never changed', async () => {
  const script = SCRIPTS.find(({ client }) => client === 'codex')!;
  using folder = await restoreSession(script);
  const [file] = globSync('.codex/sessions/*/*/*/*.jsonl', { cwd: folder.home });
  const before = statSync(join(folder.home, file!));
  const env = { CODEX_HOME: join(folder.home, '.codex') };
  const places = { home: '/nowhere', env };
  const [session] = await listSessions(places, { folder: folder.path });
  assert.equal(session?.client, 'codex');
  await Array.fromAsync(readTurns(session!));
  const after = statSync(join(folder.home, file!));
  assert.deepEqual([after.mtimeMs, after.size], [before.mtimeMs, before.size]);
  assert.deepEqual(await listSessions({ home: '/nowhere', env: {} }, { folder: null }), []);
});

test('a session is found by name, by id, and by the variable of the client that runs the command', async () => {
  using folder = await restoreSession(SCRIPTS.find(({ client }) => client === 'claude')!);
  const session = await only(folder);
  const places = placesOf(folder);
  for (const name of [session.name, session.id, session.id.slice(0, 8), undefined])
    assert.equal((await findSession(places, name, folder.path)).id, session.id);
  const second = session.file.replace(session.id, '11111111-2222-3333-4444-555555555555');
  writeFileSync(second, readFileSync(session.file));
  assert.notEqual((await findSession(places, undefined, folder.path)).id, session.id);
  const env = { CLAUDE_CODE_SESSION_ID: session.id };
  assert.equal((await findSession(placesOf(folder, env), undefined, folder.path)).id, session.id);
  await assert.rejects(findSession(places, 'none', folder.path), { code: 'no_session' });
});
