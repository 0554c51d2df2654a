import { EXIT } from '../../../base/errors.ts';
import { ANSWER_TAIL_CHARS } from '../../../base/limits.ts';
import type { Bundle, PromptOutcome } from '../../../client/prompts/types.ts';
import type { Host } from '../host.ts';
import type { AgentWork } from '../host-agents.ts';
import type { Io } from '../io.ts';
import { type Prepared, tellOutcome, undo } from './prompt-call.ts';

export interface WrappedCall {
  readonly cli: string;
  readonly args: readonly string[];
  readonly promptBy?: 'stdin' | 'argument' | 'file';
}

/**
 * Puts a bundle to a program. What it says goes on as it comes, byte for byte, and into the thread beside it; its exit code
 * is ours.
 */
export async function runWrapped(
  { io, host }: { readonly io: Io; readonly host: Host },
  work: AgentWork,
  { bundle, fresh }: Prepared,
  call: WrappedCall,
): Promise<number> {
  try {
    return await passThrough(io, work, bundle, call);
  } catch (error) {
    if (fresh) await undo(host, work, bundle.thread_id);
    throw error;
  }
}

async function passThrough(io: Io, work: AgentWork, bundle: Bundle, call: WrappedCall): Promise<number> {
  await work.prompts.charge(bundle);
  const passage = new Passage(io);
  const ended = work.programs.run({
    ...call,
    prompt: `${bundle.system}\n\n${bundle.user}`,
    terminal: false,
    thread: bundle.thread_id,
    onOutput: (chunk) => passage.take(chunk),
  });
  let code = 0;
  let signal: string | null = null;
  const finished = ended.then((end) => {
    code = end.code;
    signal = end.signal;
  });
  finished.catch(() => {}).finally(() => passage.end());
  const anything = await passage.began;
  let outcome: PromptOutcome | null = null;
  if (anything) {
    outcome = await work.prompts
      .record(bundle, {
        by: call.cli,
        body: passage.body,
        tail: () => passage.tail,
        name: `${call.cli.split(/[\\/]/).at(-1)}.md`,
        more: () => ({ exit_code: code, ...(signal ? { signal } : {}) }),
      })
      .catch((error: unknown) => {
        // It has been shown; that it could not be kept must not end the program.
        io.warn(`What ${call.cli} said is not kept: ${(error as Error).message}`);
        return null;
      });
  }
  await finished;
  if (io.json) io.result({ ...outcome, exit_code: code }, '');
  else if (outcome) tellOutcome(io, outcome, bundle);
  else if (!anything) io.note(`${call.cli} said nothing; nothing was kept.`);
  return code || EXIT.ok;
}

/** A stream through which output passes on its way to the terminal. */
class Passage {
  readonly body: ReadableStream<Uint8Array>;
  /** Whether anything came before the end. */
  readonly began: Promise<boolean>;
  readonly #io: Io;
  readonly #decoder = new TextDecoder();
  #tail = '';
  #sink: ReadableStreamDefaultController<Uint8Array> | null = null;
  #room: (() => void) | null = null;
  #begin!: (anything: boolean) => void;

  constructor(io: Io) {
    this.#io = io;
    this.began = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#sink = controller;
      },
      pull: () => this.#room?.(),
      // The store wants no more of it; the terminal still does.
      cancel: () => {
        this.#sink = null;
        this.#room?.();
      },
    });
  }

  get tail(): string {
    return this.#tail;
  }

  async take(chunk: Uint8Array): Promise<void> {
    // With --json stdout is for the result.
    if (!this.#io.json) await this.#io.stdout.send(chunk).catch(() => {});
    this.#tail = (this.#tail + this.#decoder.decode(chunk, { stream: true })).slice(-ANSWER_TAIL_CHARS);
    this.#begin(true);
    if (!this.#sink) return;
    this.#sink.enqueue(chunk.slice());
    if ((this.#sink.desiredSize ?? 1) <= 0) {
      await new Promise<void>((resolve) => {
        this.#room = resolve;
      });
      this.#room = null;
    }
  }

  end(): void {
    this.#begin(false);
    this.#sink?.close();
    this.#sink = null;
  }
}
