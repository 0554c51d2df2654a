import { RelayError } from '../../base/errors.ts';
import type { PromptWay } from '../../client/prompts/types.ts';
import { profileOf } from './profiles.ts';

export interface CliChoice {
  /** A name on the PATH, or a path. */
  readonly cli: string;
  readonly args: readonly string[];
  readonly promptBy?: PromptWay;
}

/** A program as it is going to be started. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  /** What it reads on stdin. */
  readonly input?: string;
}

/** What Linux takes as one argument is 128 KiB; longer prompts need another way in. */
const ARGUMENT_BYTES = 120 * 1024;

/**
 * The command line that puts a prompt to a program: by its profile, or by a template in the user's own arguments, where
 * `{prompt}` and `{file}` mark the place. Without either, the prompt goes to stdin. `writeFile` is called when a file is
 * needed and gives its path.
 */
export async function commandLine(
  choice: CliChoice,
  prompt: string,
  writeFile: (text: string) => Promise<string>,
): Promise<CommandLine> {
  const profile = profileOf(choice.cli);
  const marked = choice.args.some((arg) => /\{(?:prompt|file)\}/.test(arg));
  const own = profile && !marked ? profile.args : [];
  // A lone dash is the place of the prompt itself and stays last.
  const [before, last] = own.at(-1) === '-' ? [own.slice(0, -1), ['-']] : [own, []];
  const template = [...before, ...choice.args, ...last];
  const placed = template.some((arg) => arg.includes('{prompt}') || arg.includes('{file}'));
  const way = choice.promptBy ?? (marked ? 'argument' : (profile?.prompt ?? 'stdin'));
  const file = template.some((arg) => arg.includes('{file}')) ? await writeFile(prompt) : '';
  const args = template.map((arg) => arg.replaceAll('{file}', file).replaceAll('{prompt}', prompt));
  if (!placed && way === 'stdin') return { command: choice.cli, args, input: prompt };
  if (!placed) args.push(way === 'file' ? await writeFile(prompt) : prompt);
  if (args.every((arg) => Buffer.byteLength(arg) <= ARGUMENT_BYTES)) return { command: choice.cli, args };
  throw new RelayError('too_large', {
    what: 'a prompt that goes in as an argument',
    limit: ARGUMENT_BYTES,
    hint: 'Let it go in another way: --prompt-by stdin or --prompt-by file.',
  });
}
