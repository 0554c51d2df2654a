import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { isRelayError, RelayError } from '../../../base/errors.ts';
import { PROMPT_WORDS_BYTES } from '../../../base/limits.ts';
import type { Billed, Bundle, PromptOutcome } from '../../../client/prompts/types.ts';
import { badUsage, type Flags, type Invocation } from '../command.ts';
import type { AgentWork } from '../host-agents.ts';
import { count } from '../human.ts';
import { type Io, pipedText } from '../io.ts';
import { findArtifact, findThread, THREAD_FLAG, useThread } from '../threads/thread-choice.ts';

/** What `relay run` and `relay wrap run` have in common. */
export const PROMPT_FLAGS = {
  ...THREAD_FLAG,
  new: { help: 'begin a new thread; one is made anyway where none has been used yet' },
  attach: {
    value: 'FILE',
    multiple: true,
    help: 'put a file into the thread first; - is stdin. Its preview travels, the rest is a pull away',
  },
  with: {
    value: 'REF',
    multiple: true,
    help: 'show this artifact in any case: a ref, its beginning, or a name',
  },
  system: { value: 'TEXT', help: 'who the model is to be' },
  'dry-run': { help: 'show the prompt and what it costs; ask nobody, keep nothing' },
} as const satisfies Flags;

/** The words: from the command line, or from stdin for `-`. */
export async function promptWords(io: Io, args: readonly string[]): Promise<string> {
  const words = args.join(' ');
  if (words !== '-') return words;
  const tooLong = (text: string) => Buffer.byteLength(text) > PROMPT_WORDS_BYTES;
  const text = await pipedText(io, tooLong);
  if (!tooLong(text)) return text;
  throw new RelayError('too_large', {
    what: 'a prompt',
    limit: PROMPT_WORDS_BYTES,
    hint: 'Put the material into the thread with --attach -; its preview travels.',
  });
}

type PromptCall = Pick<Invocation<typeof PROMPT_FLAGS>, 'io' | 'host' | 'flags'>;

/**
 * Finds or makes the thread, puts in what is attached, and has the bundle asked; with --dry-run it is only shown. A thread
 * that was made for this goes again where nothing comes of it.
 */
export async function withBundle(
  call: PromptCall,
  work: AgentWork,
  words: string,
  ask: (bundle: Bundle) => Promise<number>,
): Promise<number> {
  const { io, host, flags } = call;
  const found = await chosenThread(call, work);
  const thread_id = found ?? (await work.threads.create({ name: threadName(words) })).thread_id;
  try {
    const refs: string[] = [];
    for (const word of flags.with ?? []) refs.push(await findArtifact(work.threads, thread_id, word));
    for (const name of flags.attach ?? []) refs.push(await attach(io, work, thread_id, name));
    const bundle = await work.prompts.bundle({ thread_id, words, system: flags.system, refs });
    if (flags['dry-run']) {
      showBundle(io, bundle);
      if (found === null) await work.threads.delete(thread_id);
      return 0;
    }
    await useThread(host, thread_id);
    const code = await ask(bundle);
    await useThread(host, thread_id);
    return code;
  } catch (error) {
    if (found === null) {
      await work.threads.delete(thread_id).catch(() => {});
      await (await host.threadMemory()).forget(thread_id).catch(() => {});
    }
    throw error;
  }
}

/** The one that is named, or the one used last; null where there is none, or a new one is wanted. */
async function chosenThread({ io, host, flags }: PromptCall, work: AgentWork): Promise<string | null> {
  const named = flags.thread ?? (io.env.RELAY_THREAD || undefined);
  if (flags.new) {
    if (flags.thread === undefined) return null;
    throw badUsage('A thread is either named or new.', 'Leave one out.');
  }
  if (named !== undefined) return findThread(work.threads, named);
  const last = (await host.threadMemory()).get();
  if (last === undefined) return null;
  try {
    return (await work.threads.get(last)).thread_id;
  } catch (error) {
    if (isRelayError(error, 'not_found')) return null;
    throw error;
  }
}

/** Gives the ref of what is a part of the thread now. */
async function attach(io: Io, work: AgentWork, thread: string, name: string): Promise<string> {
  if (name === '-') {
    const body = Readable.toWeb(io.stdin.stream) as ReadableStream<Uint8Array>;
    return (await work.threads.putArtifact(thread, { body, name: 'stdin.txt' })).ref;
  }
  const path = resolve(io.cwd, name);
  const file = await stat(path).catch(() => null);
  if (!file?.isFile()) throw new RelayError('missing', { what: `file ${name}` });
  const body = Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>;
  return (await work.threads.putArtifact(thread, { body, size: file.size, name: basename(path) })).ref;
}

function threadName(words: string): string {
  const line = words.trim().replace(/\s+/g, ' ');
  return [...line].length > 60 ? `${[...line].slice(0, 59).join('')}…` : line;
}

/** The whole prompt and its price, for --dry-run. */
function showBundle(io: Io, bundle: Bundle): void {
  const { system, user, tokens, pasted, state_ref, fingerprint } = bundle;
  const artifacts = bundle.artifacts.map(({ ref, name, size }) => ({ ref, name, size }));
  const json = { system, user, state_ref, artifacts, fingerprint, tokens, pasted };
  const { style } = io;
  io.result(json, () => [style.bold('system'), system, '', style.bold('user'), user].join('\n'));
  const estimated = tokens.estimated || pasted.estimated;
  const priced = { prompt: tokens.tokens, pasted: pasted.tokens, tokenizer: tokens.tokenizer, estimated };
  if (!io.json) io.note(price(priced));
}

/** `1,204 tokens instead of 48,320 pasted (o200k_base)` */
function price({
  prompt,
  pasted,
  tokenizer,
  estimated,
}: Pick<PromptOutcome['tokens'], 'prompt' | 'pasted' | 'tokenizer' | 'estimated'>): string {
  return `${estimated ? 'about ' : ''}${count(prompt)} tokens instead of ${count(pasted)} pasted (${tokenizer})`;
}

/** `; billed 2,100 in (1,800 cached), 80 out` */
function bill({ input_tokens, output_tokens, cached_input_tokens = 0 }: Billed): string {
  const cached = cached_input_tokens > 0 ? ` (${count(cached_input_tokens)} cached)` : '';
  return `; billed ${count(input_tokens)} in${cached}, ${count(output_tokens)} out`;
}

/** What came of it, for people. */
export function tellOutcome(io: Io, outcome: PromptOutcome): void {
  const { thread_id, artifact_ref, state_ref, billed, patch, session_cache_hit, cut, model, tokens } =
    outcome;
  if (cut) io.warn(`${model} was not done when it reached its limit; see --max-tokens.`);
  if (patch.status === 'refused')
    io.warn(`What ${model} wanted to be remembered was refused: ${patch.why}. The rest is kept.`);
  const cost = session_cache_hit
    ? 'answered before, from the session cache'
    : `${price(tokens)}${billed ? bill(billed) : ''}`;
  io.note(cost);
  const learnt = patch.status === 'applied' ? `, ${patch.ops} remembered` : '';
  io.note(`answer ${artifact_ref} · state ${state_ref}${learnt} · thread ${thread_id}`);
}
