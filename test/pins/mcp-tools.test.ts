import { test } from 'node:test';
import { temporaryHome } from '../cli/program.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { ERAS, overHttp, overStdio, type TestClient } from '../mcp/clients.ts';
import { assertPinnedJson } from './pinned.ts';

/**
 * Compares the answers to the official MCP client over stdio and HTTP, in both protocol revisions. If transports get
 * different answers, the file lists each answer with its transports. UPDATE_PINS=1 rewrites mcp-tools.json; see pinned.ts.
 */

interface Named {
  readonly name: string;
}

/** Returns the parts to compare: the server description, each list, and each item by name. */
async function readParts({ client }: TestClient): Promise<[part: string, answer: unknown][]> {
  const server = client.getServerVersion();
  const parts: [string, unknown][] = [
    ['server', server],
    ['capabilities', client.getServerCapabilities()],
    ['instructions', client.getInstructions()],
    ['resources/list', await client.listResources()],
    ...list('tools', await client.listTools()),
    ...list('resourceTemplates', await client.listResourceTemplates()),
    ...list('prompts', await client.listPrompts()),
  ];
  const placed = (key: string, value: unknown) =>
    key === 'version' && value === server?.version ? '{version}' : value;
  return parts.map(([part, answer]) => [part, JSON.parse(JSON.stringify(answer ?? null), placed)]);
}

/** Splits a list answer into the ordered names and the single items. */
function list<K extends string>(kind: K, answer: { readonly [kind in K]: readonly Named[] }) {
  const items = answer[kind];
  return [
    [`${kind}/list`, { ...answer, [kind]: items.map(({ name }) => name) }],
    ...items.map((item) => [`${kind} ${item.name}`, item]),
  ] as [string, unknown][];
}

test('an MCP client gets the same tools, resources, prompts and instructions as before', async () => {
  using home = temporaryHome();
  await using relay = await startRelay();
  const ways = ERAS.flatMap((era) => [
    { way: `stdio ${era}`, connect: () => overStdio(home.home, era, { args: ['--tools', 'resources'] }) },
    { way: `http ${era}`, connect: () => overHttp(relay.url, era) },
  ]);
  const answers = await Promise.all(
    ways.map(async ({ way, connect }) => {
      await using client = await connect();
      return { way, parts: await readParts(client) };
    }),
  );
  const answersByPart: { [part: string]: { ways: string[]; answer: unknown }[] } = {};
  for (const { way, parts } of answers) {
    for (const [part, answer] of parts) {
      answersByPart[part] ??= [];
      const same = answersByPart[part].find((one) => JSON.stringify(one.answer) === JSON.stringify(answer));
      if (same) same.ways.push(way);
      else answersByPart[part].push({ ways: [way], answer });
    }
  }
  assertPinnedJson('mcp-tools.json', answersByPart);
});
