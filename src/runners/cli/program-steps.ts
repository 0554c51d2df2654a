import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { STEP_COMPLAINT_CHARS, STEP_OUTPUT_BYTES } from '../../base/limits.ts';
import type { StepCall, StepResult } from '../../client/pipelines/runner.ts';
import { type CliChoice, type CommandLine, commandLine } from './command-line.ts';
import { runProgram } from './run-program.ts';

export interface ProgramPlace {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly signal: AbortSignal;
  said(text: string): void;
}

/** A step done by the shell: its own command with the prompt on stdin, or the prompt as the command. */
export function shellStep(call: StepCall, stdin: string, place: ProgramPlace): Promise<StepResult> {
  if (call.agent.kind !== 'shell') throw new RelayError('internal');
  const { command, env } = call.agent;
  const shell = process.platform === 'win32' ? ['cmd.exe', '/d', '/s', '/c'] : ['/bin/sh', '-c'];
  const line: CommandLine = {
    command: shell[0]!,
    args: [...shell.slice(1), command ?? call.prompt],
    input: stdin,
  };
  return runStep(line, call, { ...place, env: { ...place.env, ...env, ...call.values } });
}

/** A step done by a coding agent's own program. */
export async function cliStep(
  choice: CliChoice,
  call: StepCall,
  prompt: string,
  place: ProgramPlace,
): Promise<StepResult> {
  await using files = promptFiles();
  const line = await commandLine(choice, prompt, files.write);
  return { ...(await runStep(line, call, place)), by: choice.cli };
}

async function runStep(line: CommandLine, call: StepCall, place: ProgramPlace): Promise<StepResult> {
  const kept = new KeptOutput();
  const stop = new AbortController();
  let tooMuch: Error | null = null;
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
    signal: AbortSignal.any([place.signal, stop.signal]),
    onOutput: (chunk) => {
      place.said(decoder.decode(chunk, { stream: true }));
      try {
        if (tooMuch === null) kept.add(chunk);
      } catch (error) {
        tooMuch = error as Error;
        stop.abort();
      }
    },
    onComplaint: (chunk) => kept.complain(chunk),
  });
  if (tooMuch) throw tooMuch;
  if (place.signal.aborted) throw new RelayError('aborted', { what: call.step });
  if (code !== 0) {
    const how = signal ? `was ended by ${signal}` : `exit code ${code}`;
    throw new Error(kept.lastWords === '' ? how : `${how}: ${kept.lastWords}`);
  }
  return { content: kept.content };
}

/** Files with prompts, gone when disposed. */
export function promptFiles(): AsyncDisposable & { write(text: string): Promise<string> } {
  let folder: string | null = null;
  let count = 0;
  return {
    async write(text) {
      folder ??= await mkdtemp(join(tmpdir(), 'relay-prompt-'));
      const path = join(folder, `prompt-${++count}.md`);
      await writeFile(path, text, { mode: 0o600 });
      return path;
    },
    async [Symbol.asyncDispose]() {
      if (folder !== null) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What a program says, kept as far as it may go. */
class KeptOutput {
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #complaint = '';
  readonly #decoder = new TextDecoder();

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > STEP_OUTPUT_BYTES)
      throw new Error(`it says more than ${STEP_OUTPUT_BYTES / 1024 / 1024} MiB`);
    this.#chunks.push(chunk);
  }

  complain(chunk: Uint8Array): void {
    this.#complaint = (this.#complaint + this.#decoder.decode(chunk, { stream: true })).slice(
      -STEP_COMPLAINT_CHARS,
    );
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  /** Whether it is text at all; otherwise it is kept as bytes. */
  get content(): string | Uint8Array {
    const bytes = Buffer.concat(this.#chunks);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return bytes;
    }
  }

  /** The end of what it complained about, or of what it said. */
  get lastWords(): string {
    const words = this.#complaint.trim() || this.text.slice(-STEP_COMPLAINT_CHARS).trim();
    return words.split('\n').slice(-3).join(' ').trim().slice(-300);
  }
}
