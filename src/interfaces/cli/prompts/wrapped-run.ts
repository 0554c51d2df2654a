import { ANSWER_TAIL_CHARS } from '../../../base/limits.ts';
import type { Bundle, PromptOutcome } from '../../../client/prompts/types.ts';
import type { AgentWork, ProgramRun } from '../host-agents.ts';
import type { Io } from '../io.ts';
import { tellOutcome } from './prompt-call.ts';

/**
 * Puts a bundle to a program. What it says goes on as it comes, byte for byte unless to a terminal, and into the thread beside it; its exit code
 * is ours.
 */
export async function runWrapped(
  io: Io,
  work: AgentWork,
  bundle: Bundle,
  call: Pick<ProgramRun, 'cli' | 'args' | 'promptBy'>,
): Promise<number> {
  const passage = new Passage(io);
  const ended = work.programs.run({
    ...call,
    prompt: `${bundle.system}\n\n${bundle.user}`,
    terminal: false,
    thread: bundle.thread_id,
    onOutput: (chunk) => passage.take(chunk),
    ...(io.stderr.isTTY ? { onComplaint: (chunk) => io.stderr.write(chunk) } : {}),
  });
  ended.catch(() => {}).finally(() => passage.end());
  const anything = await passage.began;
  let outcome: PromptOutcome | null = null;
  if (anything) {
    outcome = await work.prompts
      .record(bundle, {
        by: call.cli,
        body: passage.body,
        name: `${call.cli.split(/[\\/]/).at(-1)}.md`,
        end: async () => {
          const { code, signal } = await ended;
          const more = { exit_code: code, ...(signal ? { signal } : {}) };
          return { tail: passage.tail, more, failed: code !== 0 };
        },
      })
      .catch((error: unknown) => {
        // It has been shown; that it could not be kept must not end the program.
        io.warn(`What ${call.cli} said is not kept: ${(error as Error).message}`);
        return null;
      });
  }
  const { code } = await ended;
  if (!anything)
    await work.prompts
      .handedOver(bundle, call.cli)
      .catch((error: Error) => io.warn(`The ledger does not know of it: ${error.message}`));
  if (io.json) io.result({ ...outcome, exit_code: code }, '');
  else if (outcome) tellOutcome(io, outcome);
  else if (!anything) io.note(`${call.cli} said nothing; nothing was kept.`);
  if (outcome && code !== 0 && !io.json)
    io.note(`${call.cli} ended with ${code}: what it said is kept, and nothing of it is remembered.`);
  return code;
}

/** What a program says, on its way to the terminal; the thread reads it from `body` as it passes. */
class Passage {
  readonly #io: Io;
  readonly #decoder = new TextDecoder();
  readonly #stream = new TransformStream<Uint8Array, Uint8Array>();
  readonly #writer = this.#stream.writable.getWriter();
  readonly #began = Promise.withResolvers<boolean>();
  readonly body = this.#stream.readable;
  /** Whether anything came before the end. */
  readonly began = this.#began.promise;
  /** The end of what has passed. */
  tail = '';

  constructor(io: Io) {
    this.#io = io;
  }

  async take(chunk: Uint8Array): Promise<void> {
    // With --json stdout is for the result.
    if (!this.#io.json) await this.#io.stdout.send(chunk).catch(() => {});
    this.tail = (this.tail + this.#decoder.decode(chunk, { stream: true })).slice(-ANSWER_TAIL_CHARS);
    this.#began.resolve(true);
    // Where the store wants no more of it, the terminal still does.
    await this.#writer.write(chunk.slice()).catch(() => {});
  }

  end(): void {
    this.#began.resolve(false);
    this.#writer.close().catch(() => {});
  }
}
