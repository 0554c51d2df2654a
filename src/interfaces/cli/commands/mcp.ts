import { MCP_BUDGET_TOKENS, OUTPUT_TOKENS } from '../../../base/limits.ts';
import { badUsage, defineCommand } from '../command.ts';
import type { WrapOptions } from '../host.ts';
import { count, oneOf, parseCount, shortLine } from '../human.ts';

const mcp = defineCommand({
  omitsUrl: true,
  usage: '[wrap] [-- COMMAND…]',
  details: `Put this command in the MCP configuration of a coding agent or desktop client, which starts it. It uses the local
store, or the server in CONTEXTRELAY_URL with CONTEXTRELAY_API_KEY. It exits when the client closes the connection. A
relay server offers the same tools over HTTP at /mcp.

relay mcp wrap runs another MCP server, or connects to the one at --url, and passes its messages on. With wrap, --url is
the address of the MCP server, not of a relay. If the result of a
tool has more than ${OUTPUT_TOKENS.default} tokens (--tokens), it is stored in the local store and replaced by an excerpt with a handle. The
client gets the tool pull_context to read the rest. If an argument of a tool call is
only a handle, the server gets the stored text instead. This works for handles that relay mcp wrap gave to the same session of the
client. Put a URL that contains a secret in RELAY_MCP_URL, not in --url: other users of the machine can see arguments.
RELAY_MCP_HEADERS contains the HTTP headers, as a JSON object.`,
  flags: {
    tools: {
      value: 'A,B',
      help: 'names of groups (agents, ask, resources, sessions) add tools to the default ones; names of tools replace the default ones',
    },
    budget: {
      value: 'TOKENS',
      help: `largest pull in tokens; a larger payload must be pulled in parts (${count(MCP_BUDGET_TOKENS)})`,
    },
    tokens: { value: 'N', help: `with wrap: show at most N tokens of a result (${OUTPUT_TOKENS.default})` },
    expand: { value: 'on|off', help: 'with wrap: replace handles in arguments by their texts (on)' },
    name: { value: 'NAME', help: 'with wrap: name of the server in relay stats --tools' },
  },
  examples: `
    relay mcp  # use this as the command in the client
    relay mcp --tools agents  # also offer the tools of the group agents
    relay mcp --tools push_context,peek_context,pull_context  # offer only three tools
    relay mcp wrap -- npx -y @modelcontextprotocol/server-filesystem .  # shorten the long results of a server
    relay mcp wrap --url https://example.com/mcp  # shorten the long results of a server over HTTP`,
  takes: { max: 1 },
  takesRest: true,
  async run({ io, host, flags, args, rest }) {
    const budget = parseCount(flags.budget, '--budget', { min: 100, max: 10_000_000 }) ?? MCP_BUDGET_TOKENS;
    if (io.stdin.isTTY) io.note('This command talks MCP to a program. Press Ctrl-D to stop it.');
    const wiring = {
      folder: io.cwd,
      typed: io.typed,
      stdin: io.stdin.stream,
      stdout: io.stdout.stream,
      onWarning: (text: string) => io.warn(shortLine(text, LOG_CHARS)),
    };
    if (args[0] === 'wrap') {
      const { default: tokens, ...range } = OUTPUT_TOKENS;
      return await host.outputs.wrapMcp({
        ...wiring,
        name: flags.name ?? null,
        server: wrappedServer(rest, (flags as { url?: string }).url, io.env.RELAY_MCP_URL),
        expands: oneOf('--expand', flags.expand, ['on', 'off']) !== 'off',
        budget: parseCount(flags.tokens, '--tokens', range) ?? tokens,
      });
    }
    if (args.length + rest.length > 0)
      throw badUsage(
        `relay mcp does not accept "${[...args, ...rest][0]}".`,
        'Did you mean: relay mcp wrap?',
      );
    const onError = (error: unknown) =>
      wiring.onWarning(error instanceof Error ? error.message : String(error));
    await host.agents.serveMcp({ ...wiring, tools: flags.tools ?? null, budget, onError });
  },
});

/** Maximum number of characters of a warning, which the MCP client writes to its log. */
const LOG_CHARS = 200;

function wrappedServer(
  command: readonly string[],
  flag: string | undefined,
  variable: string | undefined,
): WrapOptions['server'] {
  const url = flag ?? (command.length > 0 ? undefined : variable);
  if (command.length > 0 === (url !== undefined))
    throw badUsage(
      'Name one MCP server to wrap: a command after --, or a URL with --url or in RELAY_MCP_URL.',
      'Use: relay mcp wrap -- COMMAND, or: relay mcp wrap --url https://example.com/mcp',
    );
  if (url === undefined) return { command };
  if (URL.canParse(url) && /^https?:/.test(url)) return { url };
  throw badUsage(
    `${flag === undefined ? 'RELAY_MCP_URL' : '--url'} is not an HTTP URL.`,
    'Use a URL such as https://example.com/mcp',
  );
}

export const commands = { mcp };
