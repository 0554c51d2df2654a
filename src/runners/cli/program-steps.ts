import { RelayError } from '../../base/errors.ts';
import { STEP_COMPLAINT_CHARS, STEP_OUTPUT_BYTES } from '../../base/limits.ts';
import { decodeUtf8 } from '../../base/utf8.ts';
import type { ShellAgent } from '../../client/pipelines/definition.ts';
import {
  type StepCall,
  StepFailure,
  type StepResult,
  type StepRunner,
} from '../../client/pipelines/step-runner.ts';
import { promptFile } from '../prompt-file.ts';
import { Tail } from '../tail.ts';
import { type CliChoice, type CommandLine, commandLine } from './command-line.ts';
import { type ProgramOptions, runProgram } from './run-program.ts';

/** Where a program runs, what stops it, and who is told what it says. */
type ProgramPlace = Pick<ProgramOptions, 'env' | 'cwd'> & Parameters<StepRunner>[1];

/** A step done by the shell: its own command with the prompt on stdin, or the prompt as the command. */
export function shellStep(
  call: StepCall<ShellAgent>,
  stdin: string,
  place: ProgramPlace,
): Promise<StepResult> {
  const { command, env } = call.agent;
  const [shell, ...options] =
    process.platform === 'win32' ? (['cmd.exe', '/d', '/s', '/c'] as const) : (['/bin/sh', '-c'] as const);
  const line = { command: shell, args: [...options, command ?? call.prompt], input: stdin };
  return runStep(line, call, { ...place, env: { ...place.env, ...env, ...call.values } });
}

/** A step done by a coding agent's own program. */
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
  /** Both streams as they came, for an attempt that fails. */
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
  const { code, signal } = await runProgram(line, {
    cwd: place.cwd,
    env: {
      ...place.env,
      RELAY_STEP_KEY: call.key,
      RELAY_STEP_ID: call.step,
      RELAY_STEP_ATTEMPT: String(call.attempt),
      RELAY_THREAD: call.run,
      RELAY_CONTEXT_REFS: call.context.map(({ ref }) => ref).join(','),
    },
    streams: 'all',
    ownGroup: true,
    signal: AbortSignal.any([place.signal, tooMuch.signal]),
    onOutput: (chunk) => {
      place.said(decoder.decode(chunk, { stream: true }));
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
  const failure = (why: string) => new StepFailure(why, Buffer.concat(both));
  if (tooMuch.signal.aborted) throw failure(`it says more than ${STEP_OUTPUT_BYTES / 1024 / 1024} MiB`);
  if (place.signal.aborted) throw failure(new RelayError('aborted', { what: call.step }).message);
  const output = Buffer.concat(chunks);
  // What is not text is kept as bytes.
  if (code === 0) return { content: decodeUtf8(output) ?? output };
  const how = signal ? `was ended by ${signal}` : `exit code ${code}`;
  // The end of what it complained about, or of what it said.
  const words = complaint.text().trim() || output.toString('utf8').slice(-STEP_COMPLAINT_CHARS).trim();
  const last = words.split('\n').slice(-3).join(' ').trim().slice(-300);
  throw failure(last === '' ? how : `${how}: ${last}`);
}
