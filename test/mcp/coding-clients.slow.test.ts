import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ENTRY, NODE, temporaryHome } from '../cli/program.ts';
import { FakeModel, type Script } from '../clients/fake-model.ts';
import { installedClient, type Ran, runClient } from '../clients/installed-clients.ts';
import { CLIENT_RUNS } from './client-runs.ts';
import { openRestartable } from './restart.ts';

const SECRET = 'the plan is under the third stone';

for (const name of ['claude', 'codex'] as const) {
  for (const way of ['stdio', 'HTTP'] as const) {
    test(`${name} pushes, peeks and pulls over ${way}, also across a restart of the server`, async (t) => {
      const client = installedClient(name);
      if (!('program' in client)) return t.skip(client.missing);
      using home = temporaryHome();
      await using relay = await openRestartable(join(home.home, 'store'));
      const toolResults: string[] = [];
      await using model = new FakeModel(handOver(toolResults, () => relay.restart()));
      const { args, env } = CLIENT_RUNS[name]({
        model: await model.start(),
        home: home.home,
        ...(way === 'HTTP' ? { url: `${relay.url}/mcp` } : {}),
        stdio: { command: NODE, args: [ENTRY, 'mcp'] },
        env: { CONTEXTRELAY_URL: relay.url, RELAY_HOME: join(home.home, 'unused') },
      });
      const ran: Ran = await runClient(client.program, args, { cwd: home.home, home: home.home, env });
      const transcript = `${JSON.stringify(toolResults)}\n${ran.stdout}\n${ran.stderr}`;
      assert.equal(toolResults.length, 3, transcript);
      assert.match(toolResults[0]!, /\/pull\/[0-9a-f-]{36}/, transcript);
      assert.match(toolResults[1]!, /a plan/, transcript);
      assert.ok(toolResults[2]!.includes(SECRET), transcript);
      assert.equal(ran.code, 0, transcript);
    });
  }
}

/** Pushes, peeks, restarts the server, and pulls. */
function handOver(toolResults: string[], restart: () => Promise<void>): Script {
  return async (answers) => {
    toolResults.splice(0, toolResults.length, ...answers);
    const url = /http:\/\/127\.0\.0\.1:\d+\/pull\/[0-9a-f-]{36}/.exec(answers[0] ?? '')?.[0];
    if (answers.length === 0) return { tool: 'push_context', args: { data: SECRET, summary: 'a plan' } };
    if (answers.length === 1) return { tool: 'peek_context', args: { url } };
    if (answers.length > 2) return { text: 'All is well.' };
    await restart();
    return { tool: 'pull_context', args: { url } };
  };
}
