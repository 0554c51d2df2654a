import type { Context } from 'hono';
import { MCP_BUDGET_TOKENS } from '../../base/limits.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';
import type { McpHttpOptions } from '../../interfaces/mcp/http.ts';
import type { Mount } from './mount.ts';

export interface McpMountOptions {
  readonly core: RelayCore;
  readonly version: string;
  readonly stopping: AbortSignal;
  readonly extendMcp?: McpHttpOptions['extend'];
  log(event: LogEvent): void;
}

/** MCP over HTTP, loaded when the first client asks for it. */
export function mcpMount(o: McpMountOptions): Mount {
  return (app, enter) => {
    let serve: Promise<(c: Context) => Promise<Response>> | null = null;
    const load = async () => {
      const [{ mcpOverHttp }, { remoteDesk }] = await Promise.all([
        import('../../interfaces/mcp/http.ts'),
        import('../mcp/mcp-desk.ts'),
      ]);
      const desk = { counter: o.core.deps.tokens, budget: MCP_BUDGET_TOKENS };
      return mcpOverHttp({
        version: o.version,
        stopping: o.stopping,
        extend: o.extendMcp,
        enter: async (c) => remoteDesk(await enter(c), desk),
        onError: (error) => o.log({ level: 'warn', event: 'mcp', error: String(error) }),
      });
    };
    app.all('/mcp', async (c) => {
      serve ??= load();
      return (await serve)(c);
    });
  };
}
