import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { isRelayError, RelayError } from '../../../base/errors.ts';
import { ANSWER_TAIL_CHARS, PROMPT_WORDS_BYTES } from '../../../base/limits.ts';
import type { PromptOutcome } from '../../../client/prompts/prompts.ts';
import { PROVIDER_LIST, PROVIDERS, variableOf } from '../../../client/prompts/providers.ts';
import type { Billed, Bundle, Model, Pull } from '../../../client/prompts/types.ts';
import { badUsage, defineCommand, type Flags, type Invocation } from '../command.ts';
import type { AgentWork, ProgramRun } from '../host.ts';
import { count, parseCount, passedOn, span } from '../human.ts';
import { type Io, pipedText } from '../io.ts';
import { findArtifact, findThread, THREAD_FLAG, useThread } from './thread-choice.ts';

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
      // The error that is thrown says what went wrong; that an empty thread stays behind adds nothing.
      await work.threads.delete(thread_id).catch(() => {});
      await (await host.relay.threadMemory()).forget(thread_id).catch(() => {});
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
  const last = (await host.relay.threadMemory()).get();
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
function tellOutcome(io: Io, outcome: PromptOutcome): void {
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

/** Those that choose another provider than the first by being set; that of a compatible server is explained by itself. */
const OTHER_VARIABLES = Object.values(PROVIDERS).slice(1, -1).map(variableOf).join(', ');

const run = defineCommand({
  usage: '"WORDS" | -',
  details: `relay "WORDS" is the same. The prompt is bounded: the state of the thread, what its artifacts say
about the words, and the words. A model that can call tools may search the thread and pull parts of artifacts while it answers, within
limits; what that cost is told. The answer is kept as an artifact of the thread. Anthropic is asked (ANTHROPIC_API_KEY) unless
another provider is named, or only another one's variable is set: ${OTHER_VARIABLES}, or
RELAY_MODEL_URL for anything that speaks like OpenAI. Which of its models: --model, else RELAY_MODEL, else "models" in config.json, such as
{"model_provider": "ollama", "models": {"ollama": "qwen3"}}, else one that is built in. A model that sends nothing
for five minutes is given up: RELAY_MODEL_TIMEOUT=SECONDS waits longer, or less.`,
  flags: {
    ...PROMPT_FLAGS,
    provider: { value: 'NAME', help: `${PROVIDER_LIST} (RELAY_PROVIDER)` },
    model: { value: 'NAME', help: 'which of its models (RELAY_MODEL)' },
    'base-url': { value: 'URL', help: 'where an OpenAI-compatible server is (RELAY_MODEL_URL)' },
    'max-tokens': { value: 'N', help: 'how much it may say at most' },
    cli: { value: 'PROGRAM', help: 'ask a program instead, as relay wrap run does' },
    'no-tools': { help: 'the model answers from the prompt alone' },
    cache: { help: 'take the answer to an identical prompt, where there is one' },
  },
  takes: { min: 1, max: 1 },
  examples: `
    relay "summarise this repo" --new --attach README.md  # a new thread, a file, an answer
    relay run "and the risks?"  # go on with the thread used last
    relay run "is it done?" --with spec.md  # an artifact of the thread that is shown in any case
    relay run "why?" --thread 550e8400 --dry-run  # see the prompt and its price first
    relay run "explain" --provider ollama --model qwen3  # ask a model of your own`,
  async run({ io, host, flags, args }) {
    const words = await promptWords(io, args);
    await using work = await host.agents.openWork(io.cwd);
    const choice = {
      provider: flags.provider,
      model: flags.model,
      baseUrl: flags['base-url'],
      maxTokens: parseCount(flags['max-tokens'] || undefined, '--max-tokens', { min: 1 }),
    };
    // Before anything is made: without a model there is nothing to make it for.
    const model = flags['dry-run'] || flags.cli !== undefined ? null : work.model(choice);
    return await withBundle({ io, host, flags }, work, words, (bundle) =>
      model === null
        ? runWrapped(io, work, bundle, { cli: flags.cli!, args: [] })
        : askModel(io, work, bundle, { model, cache: flags.cache, tools: !flags['no-tools'] }),
    );
  },
});

async function askModel(
  io: Io,
  work: AgentWork,
  bundle: Bundle,
  { model, ...o }: { readonly model: Model; readonly cache?: boolean; readonly tools: boolean },
): Promise<number> {
  let said = '';
  // Into a pipe goes the answer alone, so what is said before a pull has to be waited for.
  const waits = !io.interactive && o.tools;
  const write = (text: string) => !io.json && io.stdout.write(passedOn(io, text));
  const onText = (text: string) => {
    said += text;
    if (!waits) write(text);
  };
  const onPull = ({ what, tokens }: Pull) => {
    if (said !== '' && !waits) write('\n');
    said = '';
    io.note(`${model.name} pulled ${count(tokens)} tokens: ${what}`);
  };
  const onSilence = (ms: number, most: number) => {
    const so = said === '' ? 'nothing yet' : 'nothing more';
    io.note(`${model.name} says ${so}, after ${span(ms)}; it is given up after ${span(most)} of silence.`);
  };
  try {
    const outcome = await work.prompts.ask(bundle, model, { ...o, onText, onSilence, onPull });
    if (io.json) io.result({ ...outcome, text: said }, '');
    else {
      if (waits) write(said);
      if (!said.endsWith('\n')) io.stdout.write('\n');
      tellOutcome(io, outcome);
    }
    return 0;
  } catch (error) {
    if (waits) write(said);
    if (said !== '' && !io.json) io.stdout.write('\n');
    throw error;
  }
}

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
  // What it rejects with is thrown where it is awaited, below.
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
    // With --json stdout is for the result. A reader that went away does not end the program or its record.
    if (!this.#io.json) await this.#io.stdout.send(chunk).catch(() => {});
    this.tail = (this.tail + this.#decoder.decode(chunk, { stream: true })).slice(-ANSWER_TAIL_CHARS);
    this.#began.resolve(true);
    // Where the store wants no more of it, the terminal still does.
    await this.#writer.write(chunk.slice()).catch(() => {});
  }

  end(): void {
    this.#began.resolve(false);
    // Where the store wanted no more of it, the stream is closed already.
    this.#writer.close().catch(() => {});
  }
}

export const commands = { run };
