import { MCP_BUDGET_TOKENS } from '../../../base/limits.ts';
import { defineCommand } from '../command.ts';
import { count, parseCount } from '../human.ts';

export default defineCommand({
  details: `For the configuration of a coding agent or a desktop client: it starts this command and talks to it. It works on
the local store, or on the server that CONTEXTRELAY_URL names, with CONTEXTRELAY_API_KEY. It ends when the
client closes its end. A running relay serves the same tools over HTTP at /mcp.`,
  flags: {
    tools: { value: 'A,B', help: 'offer only these tools' },
    budget: {
      value: 'TOKENS',
      help: `the most a pull answers with before it asks to take a part (${count(MCP_BUDGET_TOKENS)})`,
    },
  },
  examples: [
    ['relay mcp', 'what to put into the client, as its command'],
    ['relay mcp --tools push_context,peek_context,pull_context', 'three tools and no more'],
  ],
  async run({ io, host, flags }) {
    const budget = parseCount(flags.budget, '--budget', { min: 100, max: 10_000_000 }) ?? MCP_BUDGET_TOKENS;
    if (io.stdin.isTTY) io.note('This talks to programs, not to people. End it with Ctrl-D.');
    await host.serveMcp({
      tools: flags.tools ?? null,
      budget,
      folder: io.cwd,
      typed: io.typed,
      stdin: io.stdin.stream,
      stdout: io.stdout.stream,
      onError: (error) => io.warn(inOneLine(error)),
      onWarning: (text) => io.warn(inOneLine(text)),
    });
  },
});

/** The log of a client is no place for a page about one message that could not be read. */
function inOneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS)}…` : line;
}

const MOST_CHARS = 200;
