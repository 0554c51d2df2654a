import type { ReadKind } from '../../../contract/threads/tokens.ts';
import type { ThreadsApi } from '../../../contract/threads.ts';
import { type AnswerSpec, type Command, defineCommand, type Flags, type Invocation } from '../command.ts';
import { openThread, type THREAD_FLAG } from './thread-choice.ts';

interface FoundThread {
  readonly threads: ThreadsApi;
  readonly id: string;
}

interface ReadSpec<F extends Flags, A> extends Omit<AnswerSpec<F, A>, 'ask' | 'exit'> {
  /** What it reads is not to be counted: what is printed of it is. */
  ask(thread: FoundThread, call: Invocation<F>): Promise<A>;
}

/** A command that prints something of a thread, which goes into the ledger where a model may get to see it. */
export function readCommand<const F extends typeof THREAD_FLAG & Flags, A>(
  what: ReadKind,
  spec: ReadSpec<F, A>,
): Command {
  return defineCommand<F>({
    ...spec,
    async run(call) {
      const thread = await openThread(call as unknown as Invocation<typeof THREAD_FLAG>);
      const answer = await spec.ask(thread, call);
      await showRead(call, { ...thread, what }, answer, spec.print(answer, call.io, call.flags));
      return undefined;
    },
  });
}

/** Prints an answer. Piped, it is taken for something that a model reads; a person at a terminal reads for nothing. */
export async function showRead(
  { io, host }: Pick<Invocation<Flags>, 'io' | 'host'>,
  { threads, id, what }: FoundThread & { readonly what: ReadKind },
  answer: unknown,
  text: string,
): Promise<void> {
  io.result(answer, text);
  if (io.interactive) return;
  const { tokens } = await host.countTokens(io.json ? JSON.stringify(answer) : text);
  // What was asked for is printed: that an older relay keeps no such ledger is no reason to fail.
  await threads.shown(id, { what, tokens }).catch(() => {});
}
