import { isRelayError } from '../../../base/errors.ts';
import { isJsonObject, type Json } from '../../../base/json.ts';
import { OUTPUT_BYTES, OUTPUT_TOKENS, OUTPUT_TTL_MS, OUTPUTS_BYTES } from '../../../base/limits.ts';
import { encodeUtf8 } from '../../../base/utf8.ts';
import { lastLine, PULLS } from '../../../text/excerpt/last-line.ts';
import { badUsage, defineCommand } from '../command.ts';
import type { Host, StoredOutput, TeeOptions } from '../host.ts';
import { bytes, columns, parseCount, plural, printable, span } from '../human.ts';
import type { Io } from '../io.ts';

/** Exit codes of shells for a program that cannot be started. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

const tee = defineCommand({
  usage: '[list] [-- COMMAND…]',
  details: `Runs a command, or reads standard input. Output of at most ${OUTPUT_TOKENS.default} tokens (--tokens) is printed unchanged and not
stored. Longer output is stored while it arrives, and an excerpt is printed: the most important lines, with their
numbers. The last line of the excerpt has the handle and shows how to pull the rest. Standard output and standard error are
printed together, in order. The exit code is the command's own. At a terminal everything is shown as it comes. The command
writes to a pipe, so some programs print colors only with FORCE_COLOR=1.

Outputs are kept in the local store for ${span(OUTPUT_TTL_MS)},
at most ${bytes(OUTPUT_BYTES)} each and ${bytes(OUTPUTS_BYTES)} together (option output_storage); CONTEXTRELAY_URL is ignored. With --url they are stored
on that relay, encrypted; the key stays in the keyring of this machine. The program name and its first argument are
stored too, unencrypted. relay tee list shows the stored outputs.`,
  flags: {
    tokens: { value: 'N', help: `print at most N tokens (${OUTPUT_TOKENS.default})` },
    name: { value: 'COMMAND', help: 'with standard input: the command that wrote it' },
    exit: { value: 'CODE', help: 'with standard input: the exit code of that command' },
  },
  takes: { max: 1_000 },
  takesRest: true,
  examples: `
    relay tee -- npm test  # run the tests, and print an excerpt if the output is long
    make 2>&1 | relay tee  # read the output of another command
    relay tee --tokens 500 -- cargo build  # print at most 500 tokens
    relay pull 128 --lines 1200-1260  # read lines that the excerpt left out
    relay tee list  # list the stored outputs`,
  async run({ io, host, flags, args, rest }) {
    if (args[0] === 'list' && args.length === 1 && rest.length === 0) {
      const outputs = await host.outputs.list();
      return io.result({ outputs }, () => printOutputs(outputs, io));
    }
    if (args[0] === 'hook' && args.length === 2) {
      const lastLineOf: TeeOptions['lastLine'] = (handle, about, omitted) =>
        lastLine(
          handle,
          about,
          omitted,
          (number, lines) => `${io.typed(`relay pull ${number}`)} --lines ${lines}`,
        );
      io.stdout.write(await answerHook(args[1]!, io, host, lastLineOf).catch(() => ''));
      return 0;
    }
    if (args[0] !== undefined)
      throw badUsage(
        `relay tee does not accept the argument "${args[0]}".`,
        'Put -- before the command: relay tee -- npm test',
      );
    if (io.json) throw badUsage('--json works only with relay tee list.', 'Omit --json.');
    if (rest.length === 0 && io.stdin.isTTY)
      throw badUsage(
        'There is no output to read: you named no command and standard input is a terminal.',
        'Use: relay tee -- COMMAND, or: COMMAND 2>&1 | relay tee',
      );
    const { default: tokens, ...range } = OUTPUT_TOKENS;
    const budget = parseCount(flags.tokens, '--tokens', range) ?? tokens;
    // Without --url the output is in the local store, so the suggested pull command must unset
    // CONTEXTRELAY_URL.
    const { home, url } = flags as { home?: string; url?: string };
    const before = url === undefined && io.env.CONTEXTRELAY_URL ? 'CONTEXTRELAY_URL= ' : '';
    const after = `${home === undefined ? '' : ` --home ${home}`}${url === undefined ? '' : ` --url ${url}`}`;
    const pull = (number: string, lines: string) =>
      `${before}${io.typed(`relay pull ${number}`)}${after} --lines ${lines}`;
    try {
      return await host.outputs.tee(io, {
        command: rest,
        budget,
        name: flags.name,
        exit: parseCount(flags.exit, '--exit', { min: 0, max: 255 }) ?? null,
        lastLine: (handle, about, omitted) => lastLine(handle, about, omitted, pull),
      });
    } catch (error) {
      if (!isRelayError(error, 'missing') && !isRelayError(error, 'failed')) throw error;
      io.stderr.write(`${io.errorStyle.red('error')} ${error.message}\n`);
      return isRelayError(error, 'missing') ? NOT_FOUND : NOT_EXECUTABLE;
    }
  },
});

function printOutputs(outputs: readonly StoredOutput[], { interactive, typed }: Io): string {
  if (outputs.length === 0)
    return interactive ? typed('no stored outputs; store one with: relay tee -- COMMAND') : '';
  const cells = outputs.map((output) => [
    output.handle,
    `${span(Date.now() - Date.parse(output.created_at))} ago`,
    printable(output.command),
    output.exit === null ? 'exit unknown' : `exit ${output.exit}`,
    plural(output.lines, 'line'),
    plural(output.tokens, 'token'),
    bytes(output.bytes),
  ]);
  return columns(cells, [1, 4, 5, 6]).join('\n');
}

/** Matches the result of a shell command as Gemini CLI formats it. */
const GEMINI_SHELL =
  /^<untrusted_context>\nOutput: (.*?)(?:\nExit Code: (\d+))?(?:\nProcess Group PGID: \d+)?\n<\/untrusted_context>$/s;

/**
 * Answers the hook that a client runs after each tool call: `relay tee hook claude`. The answer replaces a long result
 * by an excerpt. The answer is empty, and the result stays unchanged, if the result fits the budget, is not text or was
 * pulled from the relay.
 */
async function answerHook(
  client: string,
  io: Io,
  host: Host,
  lastLine: TeeOptions['lastLine'],
): Promise<string> {
  const { tool_name, tool_input, tool_response } = JSON.parse(await readInput(io));
  const result = client === 'gemini' ? tool_response?.llmContent : textOf(tool_response);
  // Leave pulled text whole, because the model asked for it.
  if (typeof result !== 'string' || PULLS.test(tool_input?.command ?? '')) return '';
  const [, text = result, exit] = GEMINI_SHELL.exec(result) ?? [];
  const name = tool_input?.command ?? String(tool_name).replace(/^mcp_+(\w+?)_+/, 'mcp $1_');
  const budget = OUTPUT_TOKENS.default;
  const excerpt = await host.outputs.excerpt(encodeUtf8(text), {
    budget,
    name,
    exit: exit === undefined ? null : Number(exit),
    lastLine,
  });
  const handle = /\n\[(relay:\d+) · /.exec(excerpt)?.[1];
  if (handle === undefined || excerpt === text) return '';
  const answer =
    client === 'gemini'
      ? { hookEventName: 'AfterTool', tailToolCallRequest: await tailCall(excerpt, host) }
      : { hookEventName: 'PostToolUse', updatedToolOutput: excerpt };
  return JSON.stringify({ hookSpecificOutput: answer });
}

async function readInput({ stdin }: Io): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (let chunk = await stdin.take(); chunk !== null; chunk = await stdin.take()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Lifetime in seconds of an excerpt that Gemini CLI fetches with our MCP tool. */
const TAIL_TTL_S = 600;

/**
 * Stores the excerpt and returns a call of our MCP tool that reads it. Gemini CLI makes this call and shows the model
 * the excerpt instead of the long result. Throws if commands use a server, because the tool reads the local store.
 */
async function tailCall(excerpt: string, host: Host) {
  await using open = await host.relay.open();
  if (open.remote !== null)
    throw new Error(
      'The excerpt was not stored: commands use a relay server, but the MCP tool reads the local store.',
    );
  const { handle, id } = await (await open.client()).pushDetailed(excerpt, { ttl: TAIL_TTL_S });
  return { name: 'mcp_relay_pull_context', args: { url: handle ?? id } };
}

/** Returns the text of an MCP result. Returns null if the result contains anything but text. */
function textOf(response: Json): string | null {
  if (typeof response === 'string') return response;
  const blocks = isJsonObject(response) ? response.content : response;
  const texts = Array.isArray(blocks) ? blocks : [null];
  const isText = (block: Json): block is { type: 'text'; text: string } =>
    isJsonObject(block) && block.type === 'text' && typeof block.text === 'string';
  return texts.every(isText) ? texts.map(({ text }) => text).join('\n') : null;
}

export const commands = { tee };
