import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Reply, startFakeModel } from '../../../examples/fake-model.ts';
import { openPrompts } from '../../../test/prompts/open-prompts.ts';
import { text } from '../../../test/threads/open-threads.ts';
import { countTokens } from '../../../test/token-count.ts';
import { PULL_CALL_TOKENS, PULL_ROUNDS, PULL_TOKENS } from '../../base/limits.ts';
import { openModel } from '../../runners/provider/provider.ts';
import { TOOLS } from './thread-tools.ts';

const call = (name: string, args: object | string): Reply => ({ calls: [{ name, arguments: args }] });

/** A question whose answer is in the artifact `run.log`. */
const KETTLE = { words: 'Was the kettle filled?' };

/**
 * Asks a question in a thread with two artifacts: a long log and a plan. The model gives `replies` one by one
 * and repeats the last one.
 */
async function ask(replies: readonly Reply[], o: { only?: string[]; words?: string; tools?: boolean } = {}) {
  const open = openPrompts();
  const { api } = open.threads;
  const server = await startFakeModel(() => replies[Math.min(server.asked.length, replies.length) - 1]!);
  const thread_id = await open.thread();
  const log = Array.from({ length: 3000 }, (_, i) => `step ${i}: the kettle was filled ${i} times`).join(
    '\n',
  );
  const { ref } = await api.putArtifact(thread_id, { body: text(log), name: 'run.log' });
  const plan = await api.putArtifact(thread_id, {
    body: text('We leave for Lisbon at noon.'),
    name: 'plan.md',
  });
  const bundle = await open.prompts.bundle({ thread_id, words: o.words ?? 'When do we leave for Lisbon?' });
  const model = openModel({ model: 'm1' }, server.env, []);
  const only = o.only?.map((name) => (name === 'plan.md' ? plan.ref : ref));
  const outcome = await open.prompts.ask(bundle, model, { only, tools: o.tools });
  return { ...open, api, server, thread_id, ref, bundle, outcome, asked: server.asked };
}

describe('a model that calls tools while it answers', () => {
  it('gets parts and passages in frames, and every call is an event and is counted', async () => {
    const {
      api,
      server,
      thread_id,
      bundle,
      outcome,
      asked: all,
      ref,
    } = await ask([
      call('search', { query: 'kettle filled 2999 times' }),
      { ...(call('pull', { ref: 'run.log', lines: '7-9' }) as object), cached: 40 },
      { text: 'At noon.', cached: 60 },
    ]);
    await using _ = server;
    assert.deepEqual(
      bundle.artifacts.map(({ name }) => name),
      ['plan.md'],
    );
    assert.deepEqual(all[0]!.tools, ['list', 'search', 'pull']);
    const [searchResult, pulled] = all[2]!.results;
    assert.match(
      searchResult!,
      /^>>> relay data [0-9a-f]{16}: artifact [0-9a-f]{26} "run\.log"[\s\S]*step 2999: the kettle/,
    );
    assert.match(
      pulled!,
      new RegExp(`artifact ${ref} .*\nstep 6: .*\nstep 7: .*\nstep 8: .*\n>>> relay end`),
    );
    const { events } = await api.events(thread_id);
    const calls = events.filter(({ type }) => type === 'prompt.called').map(({ payload }) => payload.call);
    assert.deepEqual(calls, ['search "kettle filled 2999 times"', 'pull run.log lines=7-9']);
    assert.ok(
      events.some(({ type, payload }) => type === 'artifact.pulled' && payload.by === 'anthropic/m1'),
    );
    const { prompts, billed } = await api.stats(thread_id);
    const cost = countTokens(`{"query":"kettle filled 2999 times"}\n${searchResult}`).tokens;
    const next = countTokens(`{"ref":"run.log","lines":"7-9"}\n${pulled}`).tokens;
    assert.equal(prompts!.tool_calls, 2);
    assert.equal(prompts!.tool_call_tokens, cost + next);
    assert.equal(prompts!.read_tokens, 0, 'what is on the bill of a prompt is not counted as a read again');
    const tools = countTokens(JSON.stringify(TOOLS)).tokens;
    assert.equal(prompts!.prompt_tokens, bundle.tokens.tokens + tools);
    assert.equal(prompts!.shown_tokens, outcome.tokens.prompt);
    const whole = (await api.artifact(thread_id, ref)).tokens.content;
    assert.equal(
      prompts!.pasted_tokens,
      bundle.pasted.tokens + whole,
      'what was pulled would have been pasted too',
    );
    assert.deepEqual(outcome.billed, billed);
    assert.equal(billed.cached_input_tokens, 100, 'of all rounds');
  });

  it('gets no passage twice, neither from the prompt nor from an earlier search', async () => {
    const search = call('search', { query: 'kettle filled' });
    const {
      server,
      asked: all,
      bundle,
    } = await ask([search, search, 'Done.'], { words: 'Was the kettle filled?' });
    await using _ = server;
    const lines = [bundle.user, ...all[2]!.results].flatMap((excerpt) => excerpt.match(/\[line \d+\]/g)!);
    assert.ok(lines.length > 6);
    assert.equal(new Set(lines).size, lines.length);
  });

  it('must answer after a number of rounds, and gets a limited number of tokens', async () => {
    const short = await ask([call('pull', { ref: 'run.log', lines: '1' })], KETTLE);
    await using _ = short.server;
    assert.equal(short.asked.length, PULL_ROUNDS + 1);
    assert.match(short.asked.at(-1)!.results[0]!, /step 0/);
    assert.deepEqual(short.asked.at(-1)!.body.tool_choice, { type: 'none' });
    const long = await ask([call('pull', { ref: 'run.log' })], KETTLE);
    await using __ = long.server;
    const { tokens } = long.outcome;
    assert.ok(tokens.pulled > PULL_CALL_TOKENS * 2 && tokens.pulled < PULL_TOKENS + PULL_CALL_TOKENS);
    assert.ok(long.asked.length <= PULL_ROUNDS);
    assert.match(
      long.asked.at(-1)!.results[0]!,
      /\[lines 1-3000 of 3000; cut at 2000 tokens; continue with lines=\d+-\]/,
    );
  });

  it('gets an error for a failed call, and sees only what it may read', async () => {
    const { server, asked: all } = await ask(
      [
        call('pull', { ref: 'run.log', lines: '1' }),
        call('search', { query: 'kettle' }),
        call('pull', { ref: 'plan.md', grep: '(' }),
        call('pull', '{"ref": '),
        call('erase', {}),
        'Noon.',
      ],
      { only: ['plan.md'] },
    );
    await using _ = server;
    const results = all.at(-1)!.results;
    assert.match(results[0]!, /^Not done: this artifact does not exist/);
    assert.match(results[1]!, /^Nothing more found/);
    assert.match(results[2]!, /^Not done: /);
    assert.match(
      results[3]!,
      /^Not done: call list\(\) or search\(query\) or pull\(ref, lines, grep, json, outline\)/,
    );
    assert.match(results[4]!, /^Not done: call list/);
  });

  it('gets no tools if it does not support them or they are turned off', async () => {
    const refusal = { status: 400, message: 'm1 does not support tools' };
    const { server, asked: all, outcome } = await ask([refusal, 'Noon.']);
    await using _ = server;
    assert.deepEqual(
      all.map(({ tools }) => tools.length),
      [3, 0],
    );
    assert.equal(outcome.tokens.pulls, 0);
    const alone = await ask(['Noon.'], { tools: false });
    await using __ = alone.server;
    assert.deepEqual(alone.asked[0]!.tools, []);
    const { prompts, thread } = openPrompts();
    const bundle = await prompts.bundle({ thread_id: await thread(), words: 'Is anything there?' });
    await prompts.ask(bundle, openModel({ model: 'm1' }, alone.server.env, []));
    assert.deepEqual(alone.asked[1]!.tools, [], 'there is nothing to pull');
  });

  it('finds an artifact that was not shown by its name or the start of its ref', async () => {
    const open = openPrompts();
    const { api } = open.threads;
    const thread_id = await open.thread();
    const { ref } = await api.putArtifact(thread_id, { body: text('The tide is low.'), name: 'app.log' });
    await api.putArtifact(thread_id, { body: text('We leave at noon.'), name: 'plan.md' });
    const replies = [call('pull', { ref: 'app.log' }), call('pull', { ref: ref.slice(0, -2) }), 'Low.'];
    const server = await startFakeModel(() => replies[server.asked.length - 1]!);
    await using _ = server;
    const bundle = await open.prompts.bundle({ thread_id, words: 'When do we leave at noon?' });
    await open.prompts.ask(bundle, openModel({ model: 'm1' }, server.env, []));
    for (const result of server.asked[2]!.results) assert.match(result, /The tide is low/);
  });

  it('searches and pulls the parts of a state that the prompt leaves out', async () => {
    const open = openPrompts();
    const { api } = open.threads;
    const thread_id = await open.thread();
    const ops = Array.from({ length: 500 }, (_, i) => ({
      op: 'add' as const,
      path: '/facts/-',
      value: {
        id: `f${i}`,
        key: i === 7 || i === 200 ? 'billing retention' : `service ${i} owner`,
        value: `${i} days`,
      },
    }));
    await api.patch(thread_id, { ops });
    await api.patch(thread_id, {
      ops: [{ op: 'add', path: '/plan/-', value: { id: 'p', step: 'Ask the auditors', status: 'done' } }],
    });
    const replies = [
      call('list', {}),
      call('search', { query: 'Who owns service 42?' }),
      call('search', { query: 'Were the auditors asked?' }),
      call('pull', { ref: 'facts', grep: '(?i)SERVICE 49[89]' }),
      call('pull', { ref: '/facts', lines: '8' }),
      '200 days',
    ];
    const server = await startFakeModel(() => replies[server.asked.length - 1]!);
    await using _ = server;
    const question = 'What is the retention of billing?';
    const bundle = await open.prompts.bundle({ thread_id, words: question, reader: 'tools' });
    assert.match(bundle.user, /\/facts:\nbilling retention: 200 days\nbilling retention: 7 days \(older\)\n/);
    assert.match(bundle.user, /Not shown: \d+ facts\. Use search, or pull a list\./);
    await open.prompts.ask(bundle, openModel({ model: 'm1' }, server.env, []));
    const [listed, found, closed, pulled, older] = server.asked.at(-1)!.results;
    assert.equal(listed, 'facts: 500\nplan: 1');
    assert.match(found!, /^\/facts\/42 service 42 owner: 42 days/);
    assert.equal(closed, '/plan/0 Ask the auditors (done)');
    assert.match(
      pulled!,
      /\/facts\/498 service 498 owner: 498 days\n.*\/facts\/499 service 499 owner: 499 days/,
    );
    assert.match(older!, /^\/facts\/7 billing retention: 7 days\n\[line/);
  });

  it('finds earlier questions by their words, and names the artifacts that the prompt does not show', async () => {
    const open = openPrompts();
    const { api } = open.threads;
    const thread_id = await open.thread();
    const questions = Array.from({ length: 60 }, (_, i) => `Is gate ${i} of the harbour open?`);
    const replies: Reply[] = [
      ...questions.map(() => 'No. '.repeat(20)),
      call('search', { query: 'gate 3 of the harbour' }),
      call('list', {}),
      call('pull', { ref: 'last_actions', lines: '4' }),
      'No.',
    ];
    const server = await startFakeModel(() => replies[server.asked.length - 1]!);
    await using _ = server;
    const model = openModel({ model: 'm1' }, server.env, []);
    for (const question of questions)
      await open.prompts.ask(await open.prompts.bundle({ thread_id, words: question }), model);
    const bundle = await open.prompts.bundle({ thread_id, words: 'What did I ask at first?' });
    assert.doesNotMatch(bundle.user, /gate 3 of/);
    await open.prompts.ask(bundle, model);
    const [found, listed, pulled] = server.asked.at(-1)!.results;
    const { artifacts } = await api.artifacts(thread_id, { limit: 100 });
    const { ref } = artifacts.at(-4)!;
    assert.ok(
      found!.includes(`/last_actions/3 Is gate 3 of the harbour open? (answer ${ref})`),
      String(found),
    );
    assert.match(
      listed!,
      /^last_actions: 60\n(?:[0-9a-f]{26} answer\.md, \d+ tokens\n){50}\[the newest 50 artifacts/,
    );
    assert.ok(pulled!.startsWith(`/last_actions/3 Is gate 3 of the harbour open? (${ref})`), String(pulled));
  });

  it('pulls only as many rounds and tokens as the caller allows', async () => {
    const open = openPrompts();
    const thread_id = await open.thread();
    const lines = Array.from({ length: 3000 }, (_, i) => `entry ${i} of the log`).join('\n');
    await open.threads.api.putArtifact(thread_id, { body: text(lines), name: 'run.log' });
    const server = await startFakeModel(() => call('pull', { ref: 'run.log' }));
    await using _ = server;
    const model = openModel({ model: 'm1' }, server.env, []);
    const ask = async (o: { rounds?: number; tokens?: number }) => {
      const before = server.asked.length;
      const bundle = await open.prompts.bundle({ thread_id, words: 'What is in the log?' });
      const { tokens } = await open.prompts.ask(bundle, model, o);
      return { rounds: server.asked.length - before - 1, pulled: tokens.pulled };
    };
    assert.equal((await ask({ rounds: 1 })).rounds, 1);
    const { rounds, pulled } = await ask({ tokens: 500 });
    assert.equal(rounds, 1);
    assert.ok(pulled < 700, `${pulled} tokens`);
  });
});
