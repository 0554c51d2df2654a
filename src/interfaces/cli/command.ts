import { RelayError } from '../../base/errors.ts';
import type { Host, OpenClient } from './host.ts';
import type { Io } from './io.ts';

export interface Flag {
  /** Description for --help, in one line. */
  readonly help: string;
  /**
   * Placeholder for the value in --help, such as TIME in `--ttl TIME`. A flag without a placeholder takes no
   * value.
   */
  readonly value?: string;
  readonly short?: string;
  /**
   * True if the flag accepts an empty value. All other flags reject it, because an empty value usually comes
   * from an unset variable in a script.
   */
  readonly mayBeEmpty?: true;
  /** True if the flag may be repeated. Its value is then a list. */
  readonly multiple?: boolean;
}

export type Flags = { readonly [name: string]: Flag };

type FlagValue<F extends Flag> = F['value'] extends string
  ? F['multiple'] extends true
    ? string[]
    : string
  : boolean;

export type FlagValues<F extends Flags> = { readonly [K in keyof F]?: FlagValue<F[K]> };

export interface Invocation<F extends Flags = Flags> {
  readonly io: Io;
  readonly host: Host;
  /** Full name of the command, such as `relay state get`. */
  readonly name: string;
  /** Opens the relay on the first call and returns it. `runCli` closes it when the command ends. */
  open(): Promise<OpenClient>;
  readonly flags: FlagValues<F>;
  readonly args: readonly string[];
  /** Arguments after `--`, unparsed. */
  readonly rest: readonly string[];
  /** Tree of all commands. */
  readonly commands: Group;
}

/** Definition of a command in its own file. Its name and summary are in commands.ts. */
export interface CommandSpec<F extends Flags = Flags> {
  /**
   * Arguments as --help shows them, such as `<channel> [file|-]`: required arguments first, then optional
   * ones.
   */
  readonly usage?: string;
  /** Paragraphs below the summary in --help. */
  readonly details?: string;
  readonly flags?: F;
  /** Number of positional arguments. By default they are counted in `usage`. */
  readonly takes?: { readonly min?: number; readonly max?: number };
  /** True if the command accepts arguments after `--`. */
  readonly takesRest?: boolean;
  /** True if the command works only on the local store. Such a command rejects --url. */
  readonly localOnly?: boolean;
  /** True if --help omits the global --url: the command ignores it, or gives it another meaning. */
  readonly omitsUrl?: boolean;

  /**
   * True if the command exits with 0 even after an error. Only hooks do, because a failing hook could stop
   * the coding agent that runs it.
   */
  readonly failsOpen?: boolean;
  /**
   * Examples for --help, one per line. Each line has a command and an explanation:
   * `relay push notes.md  # print a pointer to it`.
   */
  readonly examples: string;
  /** Runs the command and returns its exit code. `undefined` stands for 0. */
  run(call: Invocation<F>): Promise<number | undefined>;
}

export type Command = CommandSpec<Flags>;

/** Splits the examples of a command into pairs of command line and explanation. */
export function examplesOf({ examples }: Command): (readonly [line: string, what: string])[] {
  return examples
    .trim()
    .split('\n')
    .map((row) => row.trim().split('  # ') as [string, string]);
}

/** Creates an error for a command. `what` says what is wrong. `hint` says what to do instead. */
export function refusal(
  code: 'failed' | 'conflict' | 'not_found' | 'missing' | 'aborted' | 'bad_usage',
  what: string,
  hint: string,
): RelayError {
  return new RelayError(code, { what, hint });
}

/** Creates the error for a command line with wrong options or arguments. */
export function badUsage(what: string, hint: string): RelayError {
  return refusal('bad_usage', what, hint);
}

/** Throws if the command line has more than one of these flags. */
export function rejectTogether(
  flags: { readonly [name: string]: unknown },
  ...names: readonly string[]
): void {
  const [one, other] = names.filter((name) => flags[name] !== undefined);
  if (other !== undefined)
    throw badUsage(`--${one} and --${other} cannot be used together.`, 'Use one of them.');
}

/** Returns `spec` unchanged. TypeScript infers the types of the flags that `run` receives. */
export function defineCommand<const F extends Flags>(spec: CommandSpec<F>): Command {
  return spec as unknown as Command;
}

/** Returns the description of a flag for --help. */
export function flagHelp({ help, multiple }: Flag): string {
  return multiple ? `${help}; may be repeated` : help;
}

/**
 * Definition of a command that fetches one answer and prints it: as JSON with --json, otherwise as the text
 * that `print` returns.
 */
export interface AnswerSpec<F extends Flags, A> extends Omit<CommandSpec<F>, 'run'> {
  ask(call: Invocation<F>): Promise<A>;
  print(answer: A, io: Io, flags: FlagValues<F>): string;
  /** Returns what --json prints. Default: the answer itself. */
  json?(answer: A): unknown;
  /** Returns the exit code for the answer. Default: 0. */
  exit?(answer: A): number;
}

export function answerCommand<const F extends Flags, A>(spec: AnswerSpec<F, A>): Command {
  return defineCommand<F>({
    ...spec,
    async run(call) {
      const answer = await spec.ask(call);
      call.io.result(spec.json ? spec.json(answer) : answer, () => spec.print(answer, call.io, call.flags));
      return spec.exit?.(answer);
    },
  });
}

/** A command that is loaded when it is called, or a group of commands. */
export type Node = Leaf | Group;

export interface Leaf {
  /** Summary in one line. The list of commands shows it, and the command's own help begins with it. */
  readonly summary: string;
  /** True if --help does not list the command. */
  readonly hidden?: boolean;
  load(): Promise<Command>;
}

export type Commands = { readonly [name: string]: Node };

/** Commands by section title in `relay --help`. */
export type Sections = { readonly [title: string]: Commands };

export interface Group {
  readonly summary: string;
  readonly hidden?: boolean;
  readonly commands: Commands;
}

type Load<S> = () => Promise<{ readonly commands: { readonly [K in keyof S]: Command } }>;

/**
 * Returns the commands that one file defines, with their summaries. The file is imported only when one of the
 * commands or its help is called.
 */
export function verbs<const S extends { readonly [name: string]: string }>(
  load: Load<S>,
  summaries: S,
  options: { readonly hidden?: boolean } = {},
): Commands {
  const leaves = Object.entries(summaries).map(([name, summary]): [string, Leaf] => [
    name,
    { summary, ...options, load: async () => (await load()).commands[name]! },
  ]);
  return Object.fromEntries(leaves);
}

export function group(summary: string, commands: Commands): Group {
  return { summary, commands };
}

/** Returns a group whose commands are all in one file. */
export function noun<const S extends { readonly [name: string]: string }>(
  summary: string,
  load: Load<S>,
  summaries: S,
): Group {
  return group(summary, verbs(load, summaries));
}

export function isGroup(node: Node): node is Group {
  return 'commands' in node;
}

/** Flags that every command accepts, before or after its name. */
export const GLOBAL_FLAGS = {
  home: { value: 'DIR', help: 'folder of the local store (RELAY_HOME; ~/.relay)' },
  url: { value: 'URL', help: 'use this relay server instead of the local store (CONTEXTRELAY_URL)' },
  json: { help: 'print JSON' },
  output: { value: 'json|text', help: 'output format, if --json takes a value (state patch, cap invoke)' },
  'no-color': { help: 'print without colors (NO_COLOR)' },
  help: { short: 'h', help: 'show this help' },
} as const satisfies Flags;
