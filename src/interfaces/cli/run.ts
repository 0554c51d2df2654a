import { EXIT, isRelayError, type RelayError } from '../../base/errors.ts';
import {
  badUsage,
  type Command,
  type Flags,
  type FlagValues,
  GLOBAL_FLAGS,
  type Group,
  isGroup,
  type Node,
  refusal,
} from './command.ts';
import { ROOT, SECTIONS } from './commands.ts';
import { commandHelp, groupHelp } from './help.ts';
import type { Host, OpenClient } from './host.ts';
import { type Io, makeIo, type Terminal } from './io.ts';
import { COMMANDS_KNOWN_AS, OPTIONS_KNOWN_AS, suggest } from './suggest.ts';

const COMMANDS = Object.keys(ROOT.commands);

/** Global flags that decide which store or server a command uses. */
export interface Globals {
  readonly home?: string;
  readonly url?: string;
}

/** Runs one command line and returns the exit code. Parses the global flags and passes them to `makeHost`. */
export async function runCli(
  argv: readonly string[],
  terminal: Terminal,
  makeHost: (globals: Globals, warn?: (what: string) => void) => Host,
): Promise<number> {
  let io = makeIo(terminal, {
    json: argv.includes('--json'),
    noColor: argv.includes('--no-color'),
    commands: COMMANDS,
  });
  let failsOpen = false;
  let options: object = {};
  try {
    const { commandPath, node, tail } = route(argv);
    const path = ['relay', ...commandPath];
    if (isGroup(node)) {
      const code = groupCalled(path, node, tail, io, makeHost({}).program.version);
      await tellOfGuide(argv, io, makeHost);
      return code;
    }
    const command = await node.load();
    options = command.flags ?? {};
    // A hook must exit with 0 if a client runs it. At a terminal, a person runs it and needs the real exit
    // code.
    failsOpen = command.failsOpen === true && !terminal.stdin.isTTY;
    const { flags, args, rest } = parse(path, command, tail);
    const { home, url, ...globals } = flags as FlagValues<typeof GLOBAL_FLAGS>;
    // Some commands define their own --json, whose value is their input. For them, --json does not select JSON output.
    const json = globals.output === 'json' || globals.json === true;
    io = makeIo(terminal, { json, noColor: globals['no-color'] === true, commands: COMMANDS });
    if (globals.help) {
      io.print(io.typed(commandHelp(path, node.summary, command, io)));
      await tellOfGuide(argv, io, makeHost);
      return EXIT.ok;
    }
    const name = path.join(' ');
    if (command.localOnly && url !== undefined)
      throw badUsage(
        `${name} works only on the local store, not with --url.`,
        'Omit --url. For the store of a server, run the command on the machine of the server.',
      );
    const host = makeHost({ home, url }, (what) => io.warn(what));
    checkArguments(path, command, args, rest);
    let opened: OpenClient | undefined;
    const open = async () => {
      opened ??= await host.relay.open({
        onConnection: (lost) => io.note(lost ? `${lost.message} Reconnecting…` : 'Reconnected.'),
      });
      return opened;
    };
    try {
      const code = await command.run({ io, host, name, open, flags, args, rest, commands: ROOT });
      return code ?? EXIT.ok;
    } finally {
      await opened?.[Symbol.asyncDispose]();
    }
  } catch (error) {
    const code = fail(error, io, options);
    return failsOpen ? EXIT.ok : code;
  }
}

/** After `relay help NAME`, prints a note if a guide has the same name as the command. */
async function tellOfGuide(
  argv: readonly string[],
  io: Io,
  makeHost: (globals: Globals) => Host,
): Promise<void> {
  const [first, topic] = argv;
  if (first !== 'help' || topic === undefined || !io.interactive) return;
  const guides = await makeHost({}).program.guides();
  if (guides.read(topic) !== null)
    io.print(io.style.dim(io.typed(`Read the guide with: relay help guide ${topic}`)));
}

/**
 * Finds the command whose name is in the first words. `tail` contains the global flags between these words, then the
 * remaining words.
 */
function route(argv: readonly string[]): { commandPath: string[]; node: Node; tail: string[] } {
  // `relay help X` shows the help of command X. If X is not a command, the command `help` looks for a guide.
  const [first, second] = argv;
  if (first === 'help' && (second === undefined || Object.hasOwn(ROOT.commands, second)))
    return route([...argv.slice(1), '--help']);
  let node: Node = ROOT;
  const path: string[] = [];
  const before: string[] = [];
  let at = 0;
  while (isGroup(node) && at < argv.length) {
    const word: string = argv[at]!;
    if (word.startsWith('-') && word !== '-') {
      before.push(word);
      const flag = Object.entries(GLOBAL_FLAGS).find(([name]) => word === `--${name}`)?.[1];
      if (flag && 'value' in flag && at + 1 < argv.length) before.push(argv[++at]!);
      at++;
      continue;
    }
    const next: Node | undefined = Object.hasOwn(node.commands, word) ? node.commands[word] : undefined;
    // `relay "summarize this"`: an argument with spaces is a prompt, not a command.
    if (!next && path.length === 0 && /\S\s+\S/.test(word))
      return { commandPath: ['run'], node: ROOT.commands.run!, tail: [...before, ...argv.slice(at)] };
    if (!next) throw unknownCommand(path, word, node);
    node = next;
    path.push(word);
    at++;
  }
  return { commandPath: path, node, tail: [...before, ...argv.slice(at)] };
}

function unknownCommand(path: string[], word: string, group: Group): RelayError {
  const near = suggest(word, Object.keys(group.commands), COMMANDS_KNOWN_AS);
  const name = [...path, word].join(' ');
  // The word may be a prompt, so the hint also says how to ask a model.
  const prompt = path.length === 0 ? ` To ask a model: relay run ${JSON.stringify(word)}` : '';
  return badUsage(
    `There is no command "relay ${name}".`,
    near
      ? `Did you mean: relay ${[...path, near].join(' ')}?`
      : `See ${['relay', ...path].join(' ')} --help.${prompt}`,
  );
}

function groupCalled(path: string[], group: Group, tail: string[], io: Io, version: string): number {
  if (path.length === 1 && (tail.includes('--version') || tail.includes('-v'))) {
    io.print(version);
    return EXIT.ok;
  }
  const help = io.typed(groupHelp(path, group, io, path.length === 1 ? SECTIONS : undefined));
  const unknown = tail.find(
    (word) => word.startsWith('-') && !['-h', '--help', '--json', '--no-color'].includes(word),
  );
  if (unknown) throw badUsage(`${unknown} must be used with a command.`, 'See relay --help.');
  if (tail.includes('--help') || tail.includes('-h') || path.length === 1) {
    io.print(help);
    return EXIT.ok;
  }
  io.stderr.write(`${help}\n`);
  return EXIT.usage;
}

function parse(path: string[], command: Command, tail: string[]) {
  const end = tail.indexOf('--');
  const argv = end < 0 ? tail : tail.slice(0, end);
  const { values, args } = readFlags(path, { ...GLOBAL_FLAGS, ...command.flags }, argv);
  return { flags: values as FlagValues<Flags>, args, rest: end < 0 ? [] : tail.slice(end + 1) };
}

/**
 * Splits words into options and arguments. `parseArgs` of `node:util` would do, but takes 3 ms to load on
 * Bun. A value in a word of its own must not start with a dash, except `-` and negative numbers.
 */
function readFlags(path: string[], flags: Flags, argv: readonly string[]) {
  const values: { [name: string]: string | true | string[] } = {};
  const args: string[] = [];
  const left = [...argv].reverse();
  for (let word = left.pop(); word !== undefined; word = left.pop()) {
    if (word === '-' || !word.startsWith('-')) {
      args.push(word);
      continue;
    }
    const long = word.startsWith('--');
    const at = long && word.includes('=') ? word.indexOf('=') : long ? word.length : 2;
    const option = word.slice(0, at);
    const inline = at < word.length ? word.slice(long ? at + 1 : at) : undefined;
    const name = long ? option.slice(2) : Object.keys(flags).find((each) => flags[each]!.short === option[1]);
    const flag = name !== undefined && Object.hasOwn(flags, name) ? flags[name] : undefined;
    const see = `See ${path.join(' ')} --help.`;
    if (name === undefined || flag === undefined) {
      const near = suggest(option.replace(/^-+/, ''), Object.keys(flags), OPTIONS_KNOWN_AS);
      throw badUsage(`${path.join(' ')} has no option ${option}.`, near ? `Did you mean: --${near}?` : see);
    }
    if (flag.value === undefined) {
      if (inline !== undefined && long) throw badUsage(`--${name} takes no value.`, see);
      // `-fi` means `-f -i`, so handle `-i` next.
      if (inline !== undefined) left.push(`-${inline}`);
      values[name] = true;
      continue;
    }
    const value = inline ?? left.pop();
    if (value === undefined || (inline === undefined && /^-\D/.test(value)))
      throw badUsage(
        `--${name} needs a value.`,
        `Use --${name} ${flag.value}. If the value starts with a dash, write --${name}=VALUE.`,
      );
    if (value === '' && !flag.mayBeEmpty)
      throw badUsage(`--${name} is empty.`, `Pass a value (--${name} ${flag.value}) or omit the option.`);
    values[name] = flag.multiple ? [...((values[name] as string[]) ?? []), value] : value;
  }
  return { values, args };
}

function checkArguments(path: string[], command: Command, args: string[], rest: string[]): void {
  const { min = 0, max = min } = command.takes ?? argumentsIn(command.usage);
  const name = path.join(' ');
  const usage = [name, command.usage].filter(Boolean).join(' ');
  if (args.length < min) throw badUsage(`${name} needs more arguments: ${usage}`, `See ${name} --help.`);
  if (args.length > max || (rest.length > 0 && !command.takesRest)) {
    const extra = args.length > max ? args[max] : rest[0];
    throw badUsage(
      `${name} does not accept the argument "${extra}".`,
      TAKES_WORDS.test(usage)
        ? `Put the words in quotes: ${[name, ...args.slice(0, max - 1)].join(' ')} "${args.slice(max - 1).join(' ')}"`
        : `Usage: ${usage}`,
    );
  }
}

/**
 * Counts the arguments in a usage line. `<one>` is required; `[one]` and all arguments after it are optional.
 */
function argumentsIn(usage = ''): { min: number; max: number } {
  const needed = usage.replace(/\[.*$/, '');
  const min = needed.split('<').length - 1;
  return { min, max: min + usage.split('[').length - 1 };
}

/**
 * Matches usage lines whose last argument is a sentence. Without quotes, the shell splits the sentence into
 * words, and the error suggests quotes.
 */
const TAKES_WORDS = /(<(title|task)(\|-)?>|\[msg\|-\])( --|$)/;

/**
 * Prints an error and its hint to stderr and returns the exit code. If an error of the relay begins with the name of a
 * field, such as `"max_pulls" is 0`, prints the name of the command's option instead: `--max-pulls is 0`.
 */
function fail(thrown: unknown, io: Io, options: object): number {
  // The reader closed the pipe early, as in `relay pull … | head`. This is not an error.
  if ((thrown as NodeJS.ErrnoException | null)?.code === 'EPIPE') return EXIT.ok;
  const error = isRelayError(thrown) ? thrown : unexpected(thrown, io);
  const hint = io.typed(error.hintFor('cli'));
  if (io.json) io.stderr.write(`${JSON.stringify({ ...error.toJSON(), hint })}\n`);
  else {
    const message = error.message.replace(/^"(\w+)"/, (quoted, field: string) => {
      const option = field.replaceAll('_', '-');
      return Object.hasOwn(options, option) ? `--${option}` : quoted;
    });
    io.stderr.write(`${io.errorStyle.red('error')} ${message}\n${io.errorStyle.dim(`  → ${hint}`)}\n`);
  }
  return error.exit;
}

/** Converts an unexpected error to a RelayError. Prints the stack if RELAY_DEBUG is set. */
function unexpected(thrown: unknown, io: Io): RelayError {
  if (io.env.RELAY_DEBUG) io.stderr.write(`${(thrown as Error)?.stack ?? String(thrown)}\n`);
  const what = thrown instanceof Error ? thrown.message : String(thrown);
  return refusal(
    'failed',
    `Unexpected error: ${what.replace(/\.?$/, '.')}`,
    'Run relay doctor to find the cause. Set RELAY_DEBUG=1 to see the stack trace.',
  );
}
