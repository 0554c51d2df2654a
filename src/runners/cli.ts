import { basename } from 'node:path';
import { RelayError, tooLarge } from '../base/errors.ts';
import { STEP_COMPLAINT_CHARS, STEP_OUTPUT_BYTES } from '../base/limits.ts';
import { decodeUtf8 } from '../base/utf8.ts';
import type { ShellAgent } from '../client/pipelines/definition.ts';
import {
  type StepCall,
  StepFailure,
  type StepResult,
  type StepRunner,
} from '../client/pipelines/step-runner.ts';
import type { PromptWay } from '../client/prompts/types.ts';
import { findProgram } from './find-program.ts';
import { type CommandLine, promptFile, runSupervised, Tail } from './processes.ts';

/**
 * How to run an installed coding agent without interaction. A program without a profile needs `{prompt}` or
 * `{file}` in its arguments, or gets the prompt on stdin.
 */
interface CliProfile {
  /**
   * Arguments that come before the user's own. `{prompt}` is replaced by the prompt, `{file}` by the path of
   * a file with the prompt.
   */
  readonly args: readonly string[];
  /** How the prompt is passed. */
  readonly prompt: PromptWay;
  /** True if the program starts a conversation in a terminal when it gets no prompt. */
  readonly converses: boolean;
  readonly about: string;
}

export const PROFILES: { readonly [name: string]: CliProfile } = {
  claude: { args: ['-p'], prompt: 'stdin', converses: true, about: 'Claude Code' },
  codex: {
    args: 'exec --skip-git-repo-check -'.split(' '),
    prompt: 'stdin',
    converses: true,
    about: 'OpenAI Codex',
  },
  gemini: { args: [], prompt: 'stdin', converses: true, about: 'Gemini CLI' },
  opencode: { args: ['run'], prompt: 'argument', converses: true, about: 'opencode' },
  aider: {
    args: ['--yes-always', '--no-pretty', '--message-file', '{file}'],
    prompt: 'file',
    converses: true,
    about: 'aider',
  },
  sgpt: { args: [], prompt: 'stdin', converses: false, about: 'shell-gpt' },
};

export function profileOf(cli: string): CliProfile | undefined {
  const name = basename(cli).replace(/\.(exe|cmd|bat)$/i, '');
  return Object.hasOwn(PROFILES, name) ? PROFILES[name] : undefined;
}

/** Returns the known coding agents that are on the PATH. */
export function installedClis(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(PROFILES).filter((name) => findProgram(name, env) !== null);
}

interface CliChoice {
  /** Name of a program on the PATH, or a path. */
  readonly cli: string;
  readonly args: readonly string[];
  readonly promptBy?: PromptWay;
}

/** Maximum size of an argument in bytes. Linux allows 128 KiB; a longer prompt must be passed in another way. */
const ARGUMENT_BYTES = 120 * 1024;

/**
 * Returns the command line that passes a prompt to a program. If the user's arguments contain `{prompt}` or
 * `{file}`, the prompt is filled in there. Otherwise a placeholder in the program's profile, `promptBy` or
 * the profile's `prompt` decides, in this order; by default the prompt goes to stdin. If a file is needed,
 * `writeFile` writes it and returns its path.
 */
export async function commandLine(
  choice: CliChoice,
  prompt: string,
  writeFile: (text: string) => Promise<string>,
): Promise<CommandLine> {
  const profile = profileOf(choice.cli);
  const marked = choice.args.some((arg) => /\{(?:prompt|file)\}/.test(arg));
  const profileArgs = profile && !marked ? profile.args : [];
  // A single dash means that the prompt is on stdin. It must stay the last argument.
  const [before, last] = profileArgs.at(-1) === '-' ? [profileArgs.slice(0, -1), ['-']] : [profileArgs, []];
  const template = [...before, ...choice.args, ...last];
  const hasPlaceholder = template.some((arg) => arg.includes('{prompt}') || arg.includes('{file}'));
  const promptWay = choice.promptBy ?? (marked ? 'argument' : (profile?.prompt ?? 'stdin'));
  const file = template.some((arg) => arg.includes('{file}')) ? await writeFile(prompt) : '';
  const args = template.map((arg) => arg.replaceAll('{file}', file).replaceAll('{prompt}', prompt));
  if (!hasPlaceholder && promptWay === 'stdin') return { command: choice.cli, args, input: prompt };
  if (!hasPlaceholder) args.push(promptWay === 'file' ? await writeFile(prompt) : prompt);
  if (args.every((arg) => Buffer.byteLength(arg) <= ARGUMENT_BYTES)) return { command: choice.cli, args };
  const hint = 'Pass the prompt in another way: --prompt-by stdin or --prompt-by file.';
  throw tooLarge('a prompt that is passed as an argument', ARGUMENT_BYTES, hint);
}

/** Folder, environment, abort signal and output listener of a program. */
type ProgramPlace = { readonly env: NodeJS.ProcessEnv; readonly cwd: string } & Parameters<StepRunner>[1];

/**
 * Runs a step in the shell. If the agent has a command, the prompt is its input. Otherwise the prompt itself
 * is the command.
 */
export function shellStep(
  call: StepCall<ShellAgent>,
  input: string,
  place: ProgramPlace,
): Promise<StepResult> {
  const { command, env } = call.agent;
  const line = { command: command ?? call.prompt, input };
  return runStep(line, call, { ...place, env: { ...place.env, ...env, ...call.values } });
}

/** Runs a step with a coding agent's program. */
export async function cliStep(
  choice: CliChoice,
  call: StepCall,
  prompt: string,
  place: ProgramPlace,
): Promise<StepResult> {
  await using file = promptFile();
  const line = await commandLine(choice, prompt, file.write);
  return { ...(await runStep(line, call, place)), by: choice.cli };
}

async function runStep(line: CommandLine, call: StepCall, place: ProgramPlace): Promise<StepResult> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  /** Output of both streams in the order of arrival. The error of a failed attempt contains it. */
  const both: Uint8Array[] = [];
  let bothBytes = 0;
  const keep = (chunk: Uint8Array) => {
    const room = STEP_OUTPUT_BYTES - bothBytes;
    if (room <= 0) return;
    both.push(chunk.byteLength > room ? chunk.subarray(0, room) : chunk);
    bothBytes += chunk.byteLength;
  };
  const complaint = new Tail(STEP_COMPLAINT_CHARS);
  const tooMuch = new AbortController();
  const decoder = new TextDecoder();
  const { code, signal } = await runSupervised(line, {
    cwd: place.cwd,
    env: {
      ...place.env,
      RELAY_STEP_KEY: call.key,
      RELAY_STEP_ID: call.step,
      RELAY_STEP_ATTEMPT: String(call.attempt),
      RELAY_THREAD: call.run,
      RELAY_CONTEXT_REFS: call.context.map(({ ref }) => ref).join(','),
    },
    signal: AbortSignal.any([place.signal, tooMuch.signal]),
    onOutput: (chunk) => {
      place.onOutput(decoder.decode(chunk, { stream: true }));
      keep(chunk);
      bytes += chunk.byteLength;
      if (bytes > STEP_OUTPUT_BYTES) tooMuch.abort();
      else chunks.push(chunk);
    },
    onComplaint: (chunk) => {
      keep(chunk);
      complaint.add(chunk);
    },
  });
  const failure = (why: string, code?: number) => new StepFailure(why, Buffer.concat(both), code);
  if (tooMuch.signal.aborted)
    throw failure(`its output is larger than ${STEP_OUTPUT_BYTES / 1024 / 1024} MiB`);
  if (place.signal.aborted) throw failure(new RelayError('aborted', { what: call.step }).message);
  const output = Buffer.concat(chunks);
  // If the output is not text, return it as bytes.
  if (code === 0) return { content: decodeUtf8(output) ?? output };
  const how = signal ? `was ended by ${signal}` : `exit code ${code}`;
  // Quote the end of stderr, or of stdout if stderr is empty.
  const errorText = complaint.text().trim() || output.toString('utf8').slice(-STEP_COMPLAINT_CHARS).trim();
  const last = errorText.split('\n').slice(-3).join(' ').trim().slice(-300);
  throw failure(last === '' ? how : `${how}: ${last}`, signal ? undefined : code);
}
