import { isRelayError } from '../../../base/errors.ts';
import { OUTPUT_TOKENS } from '../../../base/limits.ts';
import { badUsage, defineCommand } from '../command.ts';
import type { StoredOutput, TeeOptions } from '../host.ts';
import { bytes, columns, count, parseCount, printable, span } from '../human.ts';
import type { Io } from '../io.ts';

/** Exit codes of shells for a program that cannot be started. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

const tee = defineCommand({
  usage: '[list] [-- COMMAND…]',
  details: `Runs a command, or reads standard input. Output of at most 1200 tokens (--tokens) is printed unchanged and not
stored. Longer output is stored while it arrives, and an excerpt is printed: the most important lines, with their
numbers. The last line of the excerpt has the handle and shows how to pull the rest. Standard output and standard error are
printed together, in order. The exit code is the command's own. At a terminal everything is shown as it comes. The command
writes to a pipe, so some programs print colors only with FORCE_COLOR=1.

Outputs are kept in the local store for 7 days,
at most 256 MiB each and 1 GiB together (option output_storage); CONTEXTRELAY_URL is ignored. With --url they are stored
on that relay, encrypted; the key stays in the keyring of this machine. The program name and its first argument are
stored too, unencrypted. relay tee list shows the stored outputs.`,
  flags: {
    tokens: { value: 'N', help: `print at most N tokens (${OUTPUT_TOKENS.default})` },
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
    // CONTEXTRELAY_URL sends a pull to another relay, but the output is here.
    const { home, url } = flags as { home?: string; url?: string };
    const before = url === undefined && io.env.CONTEXTRELAY_URL ? 'CONTEXTRELAY_URL= ' : '';
    const after = `${home === undefined ? '' : ` --home ${home}`}${url === undefined ? '' : ` --url ${url}`}`;
    const lastLine: TeeOptions['lastLine'] = (handle, about, omitted = { from: 1, to: about.lines }) => {
      const to = Math.min(omitted.to, omitted.from + SAMPLE_LINES);
      const pull = `relay pull ${handle.replace(/^relay:/, '')}`;
      const facts = [
        handle,
        `${spaced(about.lines)} lines`,
        `${spaced(about.tokens)} tokens`,
        about.cut === undefined ? null : `nothing stored from line ${spaced(about.cut)} on`,
        about.exit === null ? null : `exit ${about.exit}`,
        `${before}${io.typed(pull)}${after} --lines ${omitted.from}-${to} | --grep PATTERN | --outline`,
      ];
      return `[${facts.filter((fact) => fact !== null).join(' · ')}]`;
    };
    try {
      return await host.outputs.tee(io, { command: rest, budget, lastLine });
    } catch (error) {
      if (!isRelayError(error, 'missing') && !isRelayError(error, 'failed')) throw error;
      io.stderr.write(`${io.errorStyle.red('error')} ${error.message}\n`);
      return isRelayError(error, 'missing') ? NOT_FOUND : NOT_EXECUTABLE;
    }
  },
});

/** Lines in the range that the last line of an excerpt names. */
const SAMPLE_LINES = 60;

/** Formats a number with spaces: `61 204`. */
function spaced(n: number): string {
  return count(n).replaceAll(',', ' ');
}

function printOutputs(outputs: readonly StoredOutput[], { interactive, typed }: Io): string {
  if (outputs.length === 0)
    return interactive ? typed('no stored outputs; store one with: relay tee -- COMMAND') : '';
  const cells = outputs.map((output) => [
    output.handle,
    `${span(Date.now() - Date.parse(output.created_at))} ago`,
    printable(output.command),
    output.exit === null ? 'exit unknown' : `exit ${output.exit}`,
    `${count(output.lines)} lines`,
    `${count(output.tokens)} tokens`,
    bytes(output.bytes),
  ]);
  return columns(cells, [1, 4, 5, 6]).join('\n');
}

export const commands = { tee };
