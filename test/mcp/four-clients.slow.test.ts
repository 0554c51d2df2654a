import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { TOOL_GROUPS, TOOLS } from '../../src/interfaces/mcp/tools.ts';
import { ENTRY, NODE, relay as run, temporaryHome } from '../cli/program.ts';
import { FakeModel, type Move } from '../clients/fake-model.ts';
import { type ClientName, installedClient, runClient } from '../clients/installed-clients.ts';
import { countTokens } from '../token-count.ts';
import { CLIENT_RUNS } from './client-runs.ts';

type Json = { readonly [name: string]: unknown };

const GUIDE = readFileSync(resolve(import.meta.dirname, '../../docs/mcp.md'), 'utf8');
const NAMES: { readonly [name in ClientName]: string } = {
  claude: 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  opencode: 'OpenCode',
};
const GROUPS = Object.keys(TOOL_GROUPS).filter((group) => TOOL_GROUPS[group]!.length > 0);

for (const name of Object.keys(NAMES) as ClientName[]) {
  test(`${name} reads JSON of every shape, and the tools cost what the guide says`, async (t) => {
    const client = installedClient(name);
    if (!('program' in client)) return t.skip(client.missing);
    using home = temporaryHome();
    const store = { home: home.home };
    const push = async (stdin: string) => (await run(['push', '-'], { ...store, stdin })).stdout.trim();
    const [array, scalar] = [await push('[1, "two", null]'), await push('42')];
    const moves: Move[] = [
      { tool: 'pull_context', args: { url: array } },
      { tool: 'pull_context', args: { url: scalar } },
      { tool: 'channel_publish', args: { channel: 'desk', message: 'one line of JSON' } },
      { tool: 'channel_read', args: { channel: 'desk' } },
    ];
    const toolResults: string[] = [];
    await using model = new FakeModel((answers) => {
      toolResults.splice(0, toolResults.length, ...answers);
      return moves[answers.length] ?? { text: 'All is well.' };
    });
    const { args, env } = CLIENT_RUNS[name]({
      model: await model.start(),
      home: home.home,
      stdio: { command: NODE, args: [ENTRY, 'mcp', '--tools', GROUPS.join(',')] },
      env: { RELAY_HOME: home.home, RELAY_AGENT: 'ada' },
    });
    const ran = await runClient(client.program, args, { cwd: home.home, home: home.home, env });
    const transcript = `${JSON.stringify(toolResults)}\n${ran.stdout.slice(-2_000)}\n${ran.stderr.slice(-2_000)}`;
    assert.equal(toolResults.length, moves.length, transcript);
    const plain = toolResults.map((text) => text.replaceAll('\\', ''));
    assert.ok(plain[0]!.includes('[1, "two", null]'), transcript);
    assert.match(plain[1]!, /42/, transcript);
    assert.match(plain[3]!, /"from":"ada".*one line of JSON/s, transcript);
    for (const text of plain) assert.doesNotMatch(text, /nvalid|xpected|store\.invalid/, transcript);

    const tools = offeredTools(model.requests.map(({ body }) => JSON.parse(body)));
    const cost = await costOf(tools);
    const ownTools = model.requests.flatMap(
      ({ body }) => body.match(/"name":"[^"]*mcp_?resource[^"]*"/gi) ?? [],
    );
    // Skip Codex, which adds its own tools for reading resources to every server.
    if (name !== 'codex') assert.deepEqual(ownTools, [], 'the client adds no tools of its own for the relay');
    t.diagnostic(`${name}: ${JSON.stringify(cost)}`);
    assert.ok(cost.default! <= 2_000, `${cost.default} tokens`);
    // Allow a difference of 50 tokens, so that a small change of a description need not change the guide.
    const row = GUIDE.split('\n').find((line) => line.startsWith(`| ${NAMES[name]} |`)) ?? '';
    const documented = row.split('|').slice(2, -1).map(Number);
    for (const [i, group] of ['default', ...GROUPS].entries())
      assert.ok(
        Math.abs(documented[i]! - cost[group]!) <= 50,
        `docs/mcp.md says ${row}, ${group} costs ${cost[group]}`,
      );
  });
}

/** Returns the relay's tools as the client offers them to the model. */
function offeredTools(requests: readonly Json[]): Json[] {
  const flat = (tools: readonly Json[]): Json[] =>
    tools.flatMap((tool) => {
      const nested = tool.functionDeclarations ?? (tool.type === 'namespace' ? tool.tools : undefined);
      return nested === undefined ? [tool] : flat(nested as Json[]);
    });
  const lists = requests.map((request) => flat((request.tools ?? []) as Json[]));
  const relayTools = lists.find((tools) => tools.some((tool) => String(tool.name).endsWith('push_context')))!;
  return relayTools.filter((tool) => ownName(tool) !== undefined).map(withoutAdditions);
}

function ownName(tool: Json): string | undefined {
  const ownTools = [...TOOLS, ...Object.values(TOOL_GROUPS).flat()];
  return ownTools.find(({ name }) => String(tool.name).endsWith(name))?.name;
}

/** Removes the parameter that Gemini CLI adds to each tool. */
function withoutAdditions(tool: Json): Json {
  return JSON.parse(JSON.stringify(tool, (key, value) => (key === 'wait_for_previous' ? undefined : value)));
}

/** Counts the tokens of the default tools and of each group of tools. */
async function costOf(tools: readonly Json[]): Promise<{ [group: string]: number }> {
  const groupOf = (tool: Json) =>
    GROUPS.find((group) => TOOL_GROUPS[group]!.some(({ name }) => name === ownName(tool))) ?? 'default';
  const groups = Map.groupBy(tools, groupOf);
  const countEntries = [...groups].map(async ([group, members]) => [
    group,
    (await countTokens(JSON.stringify(members))).tokens,
  ]);
  return Object.fromEntries(await Promise.all(countEntries));
}
