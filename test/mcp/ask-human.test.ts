import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryHome } from '../cli/program.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { until } from '../until.ts';
import { ERAS, overHttp, overStdio, type TestClient, textOf } from './clients.ts';

for (const era of ERAS)
  for (const way of ['stdio', 'HTTP'])
    test(`ask_human waits for the answer of a person, over ${way} (${era})`, async () => {
      using at = temporaryHome();
      await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
      const agent = await relay.key({ name: 'agent' });
      const person = await relay.key({ name: 'ann', scopes: ['threads', 'answer'] });
      const connect = (group: string): Promise<TestClient> => {
        if (way === 'HTTP')
          return overHttp(`${relay.url}/mcp${group}`, era, { Authorization: `Bearer ${agent.key}` });
        const env = { CONTEXTRELAY_URL: relay.url, CONTEXTRELAY_API_KEY: agent.key };
        return overStdio(at.home, era, { args: group === '' ? [] : ['--tools', 'ask'], env });
      };
      const open = async () => (await relay.ask('GET', '/questions', { key: person })).json.questions;
      const answer = async (input: object) => {
        await until(async () => (await open()).length === 1);
        const [{ id }] = await open();
        const { status } = await relay.ask('POST', `/questions/${id}/answer`, { key: person, body: input });
        assert.equal(status, 200);
        return id as string;
      };
      await using mcp = await connect('?tools=ask');
      const progress: string[] = [];
      const call = mcp.client.callTool(
        { name: 'ask_human', arguments: { question: 'Deploy?', choices: ['yes', 'no'] } },
        { onprogress: ({ message }) => progress.push(message ?? '') },
      );
      const id = await answer({ answer: 'yes', comment: 'after lunch' });
      assert.equal(textOf(await call), 'ann answered: yes\nComment: after lunch');
      assert.deepEqual(progress.slice(0, 1), [`Waiting for a person to answer ${id}.`]);
      // A call with the id of the question returns its answer again and asks no new question.
      assert.match(await mcp.call('ask_human', { id }), /^ann answered: yes/);
      assert.match(
        await mcp.call('ask_human', { question: 'Now?', default: 'no', timeout: 1 }),
        /answered: no/,
      );
      assert.match(await mcp.call('ask_human', { question: 'Now?', timeout: 1 }), /Nobody answered.*expired/);
      assert.match(await mcp.call('ask_human', {}), /A question has 1 to|"question" must not be empty/);
      assert.match(await mcp.call('ask_human', { id: 'q_none' }), /Check the id, or ask again without id/);
      // A client that stops waiting leaves the question open, so a person can still answer.
      const stop = new AbortController();
      const abandonedCall = mcp.client.callTool(
        { name: 'ask_human', arguments: { question: 'Ship?' } },
        { signal: stop.signal },
      );
      await until(async () => (await open()).length === 1);
      stop.abort();
      await assert.rejects(abandonedCall);
      const later = await answer({ answer: 'tomorrow' });
      assert.equal(await mcp.call('ask_human', { id: later }), 'ann answered: tomorrow');
      await using plain = await connect('');
      assert.ok(!(await plain.client.listTools()).tools.some(({ name }) => name === 'ask_human'));
    });
