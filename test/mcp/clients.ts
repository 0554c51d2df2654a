import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { cleanEnv, ENTRY, NODE } from '../cli/program.ts';

/** Protocol revisions of the clients: the most common one and the newest. */
export const ERAS = ['2025-11-25', '2026-07-28'] as const;
export type Era = (typeof ERAS)[number];

export interface TestClient extends AsyncDisposable {
  readonly client: Client;
  readonly pid: number | null;
  /** Calls a tool and returns the text of its answer. */
  call(name: string, args?: Record<string, unknown>): Promise<string>;
}

/** Connects the official client over stdio to the real program. */
export async function overStdio(
  home: string,
  era: Era,
  o: { args?: readonly string[]; env?: { readonly [name: string]: string }; cwd?: string } = {},
): Promise<TestClient> {
  const transport = new StdioClientTransport({
    command: NODE,
    args: [ENTRY, 'mcp', ...(o.args ?? [])],
    env: cleanEnv({ home, env: o.env }) as Record<string, string>,
    cwd: o.cwd ?? home,
    stderr: 'inherit',
  });
  return connected(transport, era, () => transport.pid);
}

/** Connects the official client over HTTP. */
export function overHttp(url: string, era: Era, headers: Record<string, string> = {}): Promise<TestClient> {
  const transport = new StreamableHTTPClientTransport(new URL(url.includes('/mcp') ? url : `${url}/mcp`), {
    requestInit: { headers },
  });
  return connected(transport, era, () => null);
}

async function connected(
  transport: StdioClientTransport | StreamableHTTPClientTransport,
  era: Era,
  pid: () => number | null,
): Promise<TestClient> {
  const mode = era === '2026-07-28' ? { pin: era } : 'legacy';
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return {
    client,
    get pid() {
      return pid();
    },
    call: async (name, args = {}) => textOf(await client.callTool({ name, arguments: args })),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export function textOf(result: unknown): string {
  const { content } = result as { content: { type: string; text?: string }[] };
  return content.find(({ type }) => type === 'text')?.text ?? '';
}
