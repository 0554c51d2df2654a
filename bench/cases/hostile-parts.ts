import type { Bench } from '../bench.ts';
import type { Server } from '../servers.ts';
import { healthUnder } from '../under-attack.ts';

const AT_ONCE = 40;
const LARGE = 24 * 1024 * 1024;

const PAYLOADS = [
  '\n'.repeat(LARGE),
  '['.repeat(LARGE),
  `[${'{},'.repeat(LARGE / 3 - 2)}{}]`,
  `[${'0,'.repeat(LARGE / 2 - 20)}12345678901234567890]`,
  'x'.repeat(LARGE),
];
const PARTS = [
  'json=/0',
  'outline=1',
  'lines=-20',
  'cost=1',
  'grep=(x%2Bx%2B)%2By',
  'lines=9-&cost=1',
  'json=',
  'grep=((x?){30}){30}y',
];
/** Names and contents of artifacts whose previews are expensive to make. */
const CONTENTS = [
  ['a.html', '<a '.repeat(LARGE / 3)],
  ['a.eml', `Content-Type: multipart/mixed; boundary="-"\n\n${'---'.repeat(LARGE / 3 - 20)}`],
  ['a.json', '['.repeat(1024 * 1024)],
  ['a.txt', '\n'.repeat(LARGE)],
] as const;

interface Kept {
  readonly ids: readonly string[];
  readonly thread: string;
  readonly ref: string;
}

/** Sends one of several expensive requests; `i` selects which. */
function ask({ url }: Server, { ids, thread, ref }: Kept, i: number): Promise<Response> {
  const id = ids[i % ids.length]!;
  const part = ['outline', 'lines=-20', 'json=/0', 'grep=(x+x+)+y', 'all'][i % 5]!;
  const ways = [
    () => fetch(`${url}/pull/${id}?${PARTS[i % PARTS.length]}`),
    () => fetch(`${url}/pull/${id}?${PARTS[(i + 3) % PARTS.length]}`),
    () => post(`${url}/push?count=1`, PAYLOADS[i % PAYLOADS.length]!),
    () => {
      const [name, content] = CONTENTS[i % CONTENTS.length]!;
      return post(`${url}/threads/${thread}/artifacts?name=${name}`, content);
    },
    () => callTool(url, 'pull_context', { url: id, part }),
    () => callTool(url, 'artifact_get', { thread_id: thread, ref, part }),
    () => callTool(url, 'push_context', { data: PAYLOADS[0]!.slice(0, LARGE / 2) }),
    () => post(`${url}/mcp`, PAYLOADS[i % PAYLOADS.length]!, JSON_TYPE),
    () => post(`${url}/a2a`, PAYLOADS[2]!, { ...JSON_TYPE, 'A2A-Version': '1.0' }),
    () => fetch(`${url}/threads/${thread}/search?q=${encodeURIComponent('x* '.repeat(50))}`),
  ];
  return ways[i % ways.length]!();
}

export default {
  name: 'hostile-parts',
  claim: 'less than 250 ms',
  limit: 1,
  run: () =>
    healthUnder({
      detail: `${AT_ONCE} requests for and with hostile payloads of 24 MB`,
      budgetMb: 600,
      // This budget is larger than in other attacks, because parsing an MCP message of 24 MB is one long task.
      budgetSliceMs: 250,
      async prepare(relay) {
        const storedPayloads = await keep(relay);
        return () =>
          Promise.allSettled(
            Array.from({ length: AT_ONCE }, async (_, i) => (await ask(relay, storedPayloads, i)).text()),
          );
      },
    }),
} satisfies Bench;

const JSON_TYPE = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
};

/** Stores the payloads and the artifact that the requests name. */
async function keep({ url }: Server): Promise<Kept> {
  const json = async (answer: Promise<Response>) =>
    (await (await answer).json()) as { [name: string]: string };
  const ids: string[] = [];
  for (const body of PAYLOADS) ids.push((await json(post(`${url}/push`, body))).id!);
  const thread = (await json(post(`${url}/threads`, '{}', JSON_TYPE))).thread_id!;
  const artifact = await json(post(`${url}/threads/${thread}/artifacts?name=b.txt`, PAYLOADS[2]!));
  return { ids, thread, ref: artifact.ref! };
}

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers });
}

function callTool(url: string, name: string, args: object): Promise<Response> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  return post(`${url}/mcp`, JSON.stringify(message), JSON_TYPE);
}
