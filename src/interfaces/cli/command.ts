import { RelayError } from '../../base/errors.ts';
import type { Host, OpenClient } from './host.ts';
import type { Io } from './io.ts';

export interface Flag {
  /** One line for --help. */
  readonly help: string;
  /** What stands behind the flag in --help: `--ttl SECONDS`. A flag without it is a switch and takes no value. */
  readonly value?: string;
  readonly short?: string;
  /** An empty value means something. It is refused by default: most often it is a variable of a script that is not set. */
  readonly mayBeEmpty?: true;
  /** May be given several times; the value is then a list. */
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
  /** As it was called: `relay state get`. */
  readonly name: string;
  /** Opens the relay, which is closed when the command ends. */
  open(): Promise<OpenClient>;
  readonly flags: FlagValues<F>;
  readonly args: readonly string[];
  /** What stood behind `--`, untouched. */
  readonly rest: readonly string[];
  /** Every command there is. */
  readonly commands: Group;
}

/** What a command's own file says of it; its name and its summary are in commands.ts. */
export interface CommandSpec<F extends Flags = Flags> {
  /** What stands behind the name in --help: `<channel> [file|-]`. Needed arguments first, then optional ones. */
  readonly usage?: string;
  /** Paragraphs below the summary in --help. */
  readonly details?: string;
  readonly flags?: F;
  /** How many positional arguments it takes; by default those that `usage` shows. */
  readonly takes?: { readonly min?: number; readonly max?: number };
  /** Whether it takes what stands behind `--`. */
  readonly takesRest?: boolean;
  /** Called by other programs, which must not be stopped by it: an error is printed on stderr and the exit code is 0. */
  readonly failsOpen?: boolean;
  /** Lines for --help, each a command line and what it does: `relay push notes.md  # a pointer to it`. */
  readonly examples: string;
  /** The exit code; nothing means 0. */
  run(call: Invocation<F>): Promise<number | undefined>;
}

export type Command = CommandSpec<Flags>;

/** The examples of a command, each as its command line and what that does. */
export function examplesOf({ examples }: Command): (readonly [line: string, what: string])[] {
  return examples
    .trim()
    .split('\n')
    .map((row) => row.trim().split('  # ') as [string, string]);
}

/** What a command throws: what is wrong, and what to do instead. */
export function refusal(
  code: 'failed' | 'conflict' | 'not_found' | 'missing' | 'aborted' | 'bad_usage',
  what: string,
  hint: string,
): RelayError {
  return new RelayError(code, { what, hint });
}

/** For a command line that a command does not understand. */
export function badUsage(what: string, hint: string): RelayError {
  return refusal('bad_usage', what, hint);
}

/** Gives `run` the types of its flags. */
export function defineCommand<const F extends Flags>(spec: CommandSpec<F>): Command {
  return spec as unknown as Command;
}

/** A command that gets one answer and prints it: as JSON with --json, else as the text that `print` makes of it. */
export interface AnswerSpec<F extends Flags, A> extends Omit<CommandSpec<F>, 'run'> {
  ask(call: Invocation<F>): Promise<A>;
  print(answer: A, io: Io, flags: FlagValues<F>): string;
  /** The exit code; 0 by default. */
  exit?(answer: A): number;
}

export function answerCommand<const F extends Flags, A>(spec: AnswerSpec<F, A>): Command {
  return defineCommand<F>({
    ...spec,
    async run(call) {
      const answer = await spec.ask(call);
      call.io.result(answer, () => spec.print(answer, call.io, call.flags));
      return spec.exit?.(answer);
    },
  });
}

/** A command that is loaded when it is called, or a group of such. */
export type Node = Leaf | Group;

export interface Leaf {
  /** The one line of lists, and the first one of the command's own help. */
  readonly summary: string;
  /** Left out of the list in --help. */
  readonly hidden?: boolean;
  load(): Promise<Command>;
}

export type Commands = { readonly [name: string]: Node };

/** Commands by the title they stand under in `relay --help`. */
export type Sections = { readonly [title: string]: Commands };

export interface Group {
  readonly summary: string;
  readonly hidden?: boolean;
  readonly commands: Commands;
}

type Load<S> = () => Promise<{ readonly commands: { readonly [K in keyof S]: Command } }>;

/** The commands of one file by their names, each with its summary. The file is loaded when one of them is called. */
export function verbs<const S extends { readonly [name: string]: string }>(
  load: Load<S>,
  summaries: S,
  o: { readonly hidden?: boolean } = {},
): Commands {
  const leaves = Object.entries(summaries).map(([name, summary]): [string, Leaf] => [
    name,
    { summary, ...o, load: async () => (await load()).commands[name]! },
  ]);
  return Object.fromEntries(leaves);
}

export function group(summary: string, commands: Commands): Group {
  return { summary, commands };
}

/** A group whose commands are all in one file. */
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

/** Understood by every command, before or behind its name. */
export const GLOBAL_FLAGS = {
  home: { value: 'DIR', help: 'where the local store is (RELAY_HOME; ~/.relay)' },
  url: { value: 'URL', help: 'talk to this relay instead of the local store (CONTEXTRELAY_URL)' },
  json: { help: 'answer in JSON' },
  output: { value: 'json|text', help: 'the same as --json, for commands that take JSON in --json' },
  'no-color': { help: 'no colours (NO_COLOR)' },
  help: { short: 'h', help: 'show this help' },
} as const satisfies Flags;
