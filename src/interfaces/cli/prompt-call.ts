import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { RelayError } from '../../base/errors.ts';
import { isUuid } from '../../base/ids.ts';
import { PROMPT_WORDS_BYTES } from '../../base/limits.ts';
import type { Bundle, PromptOutcome } from '../../domain/prompts/types.ts';
import type { Flags, FlagValues } from './command.ts';
import { count } from './human.ts';
import type { Io } from './io.ts';
import type { Workshop } from './workshop.ts';

/** What `relay run` and `relay wrap run` have in common. */
export const PROMPT_FLAGS = {
  thread: { type: 'string', value: 'ID', help: 'the thread to go on with; a new one is made otherwise' },
  continue: { type: 'boolean', short: 'c', help: 'go on with the newest thread' },
  attach: {
    type: 'string',
    value: 'FILE',
    multiple: true,
    help: 'put a file into the thread first; - is stdin. Its preview travels, the rest is a pull away',
  },
  system: { type: 'string', value: 'TEXT', help: 'who the model is to be' },
  'dry-run': { type: 'boolean', help: 'show the prompt and what it costs; ask nobody, keep nothing' },
} as const satisfies Flags;

type PromptFlags = FlagValues<typeof PROMPT_FLAGS>;

/** The words: from the command line, or from stdin for `-`. */
export async function promptWords(io: Io, args: readonly string[]): Promise<string> {
  const words = args.join(' ');
  if (words !== '-') return words;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let chunk = await io.stdin.take(); chunk !== null; chunk = await io.stdin.take()) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > PROMPT_WORDS_BYTES)
      throw new RelayError('too_large', {
        what: 'a prompt',
        limit: PROMPT_WORDS_BYTES,
        hint: 'Put the material into the thread with --attach -; its preview travels.',
      });
  }
  return Buffer.concat(chunks).toString('utf8');
}

export interface Prepared {
  readonly bundle: Bundle;
  /** It was made for this, and is to go again where nothing comes of it. */
  readonly fresh: boolean;
}

/** Finds or makes the thread, puts in what is attached, and builds the bundle. */
export async function prepare(io: Io, shop: Workshop, flags: PromptFlags, words: string): Promise<Prepared> {
  const found = await chosenThread(shop, flags);
  const thread_id = found ?? (await shop.threads.create({ name: threadName(words) })).thread_id;
  const fresh = found === null;
  try {
    for (const name of flags.attach ?? []) await attach(io, shop, thread_id, name);
    return { bundle: await shop.prompts.bundle({ thread_id, words, system: flags.system }), fresh };
  } catch (error) {
    if (fresh) await shop.threads.delete(thread_id).catch(() => {});
    throw error;
  }
}

async function chosenThread(shop: Workshop, flags: PromptFlags): Promise<string | null> {
  if (flags.thread !== undefined) return wholeThreadId(shop, flags.thread);
  if (!flags.continue) return null;
  const newest = (await shop.threads.list({ limit: 1 })).threads[0];
  if (newest) return newest.thread_id;
  throw new RelayError('missing', { what: 'thread to go on with', hint: 'Leave --continue out.' });
}

/** A thread by its id, or by the beginning of it where that is enough. */
export async function wholeThreadId(shop: Workshop, id: string): Promise<string> {
  if (isUuid(id) || !/^[0-9a-f-]{4,}$/i.test(id)) return id;
  const { threads } = await shop.threads.list({ prefix: id, limit: 2 });
  if (threads.length === 1) return threads[0]!.thread_id;
  if (threads.length === 0) return id;
  throw new RelayError('bad_usage', {
    what: `Several threads begin with ${id}.`,
    hint: 'Give more of the id; relay runs lists them.',
  });
}

async function attach(io: Io, shop: Workshop, thread: string, name: string): Promise<void> {
  if (name === '-') {
    const body = Readable.toWeb(io.stdin.stream) as ReadableStream<Uint8Array>;
    await shop.threads.putArtifact(thread, { body, name: 'stdin.txt' });
    return;
  }
  const path = resolve(io.cwd, name);
  const file = await stat(path).catch(() => null);
  if (!file?.isFile()) throw new RelayError('missing', { what: `file ${name}` });
  const body = Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>;
  await shop.threads.putArtifact(thread, { body, size: file.size, name: basename(path) });
}

function threadName(words: string): string {
  const line = words.trim().replace(/\s+/g, ' ');
  return [...line].length > 60 ? `${[...line].slice(0, 59).join('')}…` : line;
}

/** The whole prompt and its price, for --dry-run. */
export function showBundle(io: Io, bundle: Bundle): void {
  const { system, user, tokens, pasted, state_ref, artifacts, fingerprint } = bundle;
  const json = {
    system,
    user,
    state_ref,
    artifacts: artifacts.map(({ ref, name, size }) => ({ ref, name, size })),
    fingerprint,
    tokens,
    pasted,
  };
  const { style } = io;
  io.result(json, () => [style.bold('system'), system, '', style.bold('user'), user].join('\n'));
  if (!io.json) io.note(price(bundle));
}

/** `1,204 tokens instead of 48,320 pasted (o200k_base)` */
export function price({ tokens, pasted }: Bundle): string {
  const about = tokens.estimated || pasted.estimated ? 'about ' : '';
  return `${about}${count(tokens.tokens)} tokens instead of ${count(pasted.tokens)} pasted (${tokens.tokenizer})`;
}

/** What came of it, for people. */
export function tellOutcome(io: Io, outcome: PromptOutcome, bundle: Bundle): void {
  const { thread_id, artifact_ref, state_ref, billed, patch, session_cache_hit, cut, model } = outcome;
  if (cut) io.warn(`${model} was not done when it reached its limit; see --max-tokens.`);
  if (patch.status === 'refused')
    io.warn(`What ${model} wanted to be remembered was refused: ${patch.why}. The rest is kept.`);
  const cost = session_cache_hit
    ? 'answered before, from the session cache'
    : `${price(bundle)}${billed ? `; billed ${count(billed.input_tokens)} in, ${count(billed.output_tokens)} out` : ''}`;
  io.note(`${cost}`);
  const learnt = patch.status === 'applied' ? `, ${patch.ops} remembered` : '';
  io.note(`answer ${artifact_ref} · state ${state_ref}${learnt} · thread ${thread_id}`);
}
