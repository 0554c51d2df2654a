import type { RelayCore } from '../../domain/relay-core.ts';
import type { Protocol } from '../../interfaces/http/app.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';
import type { McpHttpOptions, McpOverHttp } from '../../interfaces/mcp/http.ts';

export interface McpMountOptions {
  readonly core: RelayCore;
  readonly version: string;
  readonly stopping: AbortSignal;
  readonly extendMcp?: McpHttpOptions['extend'];
  log(event: LogEvent): void;
}

/** MCP over HTTP, loaded when the first client asks for it. */
export function mcpMount(o: McpMountOptions): Protocol {
  const load = async () => {
    const { mcpOverHttp } = await import('../../interfaces/mcp/http.ts');
    return mcpOverHttp({
      version: o.version,
      stopping: o.stopping,
      extend: o.extendMcp,
      counter: o.core.deps.tokens,
      onError: (error) => o.log({ level: 'warn', event: 'mcp', error: String(error) }),
    });
  };
  let loading: Promise<McpOverHttp> | null = null;
  return {
    routes: [['ALL', '/mcp']],
    answer: async (c, entered) => {
      loading ??= load();
      const answer = await loading;
      return answer(c.req.raw, await entered());
    },
  };
}
