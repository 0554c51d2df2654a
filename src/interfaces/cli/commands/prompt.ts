import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { EXIT, ignore, RelayError } from '../../../base/errors.ts';
import {
  ANSWER_TAIL_CHARS,
  PROMPT_WORDS_BYTES,
  VIEW_TOKENS_MAX,
  VIEW_TOKENS_MIN,
} from '../../../base/limits.ts';
import type { PromptOutcome } from '../../../client/prompts/prompts.ts';
import { PROVIDER_LIST, PROVIDERS, variableOf } from '../../../client/prompts/providers.ts';
import type { Billed, Bundle, Model, PromptRequest, Pull } from '../../../client/prompts/types.ts';
import { promptWarnings } from '../../../contract/threads.ts';
import { defineCommand, type Flags, type Invocation, rejectTogether } from '../command.ts';
import type { AgentWork, ProgramRun } from '../host.ts';
import { count, parseCount, passedOn, plural, printable, span } from '../human.ts';
import { type Io, pipedText } from '../io.ts';
import { findArtifact, findThread, THREAD_FLAG, useThread } from '../thread-choice.ts';

/** Flags that `relay run` and `relay wrap run` share. */
export const PROMPT_FLAGS = {
  ...THREAD_FLAG,
  new: { help: 'create a new thread (also done if there is no default thread)' },
  attach: {
    value: 'FILE',
    multiple: true,
    help: 'store a file in the thread first (- for standard input); the prompt contains its preview',
  },
  with: {
    value: 'REF',
    multiple: true,
    help: 'always include the preview of this artifact: ref, its first characters, or name',
  },
  system: { value: 'TEXT', help: 'system prompt' },
  'state-tokens': { value: 'N', help: 'show at most N tokens of the state in the prompt (500)' },
  'dry-run': { help: 'show the prompt and its tokens; send and store nothing' },
} as const satisfies Flags;

/** Returns the prompt from the command line. If it is `-`, reads the prompt from standard input. */
export async function promptWords(io: Io, args: readonly string[]): Promise<string> {
  const promptText = args.join(' ');
  if (promptText !== '-') return promptText;
  const tooLong = (text: string) => Buffer.byteLength(text) > PROMPT_WORDS_BYTES;
  const text = await pipedText(io, tooLong);
  if (!tooLong(text)) return text;
  throw new RelayError('too_large', {
    what: 'a prompt',
    limit: PROMPT_WORDS_BYTES,
    hint: 'Store long material in the thread with --attach -. The prompt then contains its preview.',
  });
}

type PromptCall = Pick<Invocation<typeof PROMPT_FLAGS>, 'io' | 'host' | 'flags'>;

/**
 * Finds or creates the thread, stores the attachments, builds the prompt bundle and passes it to `ask`. With
 * --dry-run, only prints the bundle. A new thread is deleted again after a failure or a dry run.
 */
export async function withBundle(
  call: PromptCall,
  work: AgentWork,
  promptText: string,
  ask: (bundle: Bundle) => Promise<number>,
  reader: PromptRequest['reader'] = 'shell',
): Promise<number> {
  const { io, host, flags } = call;
  const limits = { min: VIEW_TOKENS_MIN, max: VIEW_TOKENS_MAX };
  const state_tokens = parseCount(flags['state-tokens'], '--state-tokens', limits);
  const existing = await chosenThread(call, work);
  const thread_id = existing ?? (await work.threads.create({ name: threadName(promptText) })).thread_id;
  try {
    const refs: string[] = [];
    for (const word of flags.with ?? []) refs.push(await findArtifact(work.threads, thread_id, word));
    for (const name of flags.attach ?? []) refs.push(await attach(io, work, thread_id, name));
    const bundle = await work.prompts.bundle({
      thread_id,
      words: promptText,
      system: flags.system,
      refs,
      reader,
      state_tokens,
    });
    if (flags['dry-run']) {
      showBundle(io, bundle);
      if (existing === null) await work.threads.delete(thread_id);
      return 0;
    }
    await useThread(host, thread_id);
    const code = await ask(bundle);
    await useThread(host, thread_id);
    return code;
  } catch (error) {
    if (existing === null) {
      // Ignore errors of the cleanup: the first error is the one to report.
      await work.threads.delete(thread_id).catch(() => {});
      await (await host.relay.threadMemory()).forget(thread_id).catch(() => {});
    }
    throw error;
  }
}

/** Returns the named thread, or the default thread. Returns null if a new thread must be created. */
async function chosenThread({ io, host, flags }: PromptCall, work: AgentWork): Promise<string | null> {
  rejectTogether(flags, 'thread', 'new');
  if (flags.new) return null;
  const named = flags.thread ?? (io.env.RELAY_THREAD || undefined);
  if (named !== undefined) return findThread(work.threads, named);
  const last = (await host.relay.threadMemory()).get();
  const found = last === undefined ? null : await work.threads.get(last).catch(ignore('not_found'));
  return found?.thread_id ?? null;
}

/** Stores a file or standard input as an artifact of the thread. Returns the reference of the artifact. */
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

function threadName(promptText: string): string {
  const line = promptText.trim().replace(/\s+/g, ' ');
  return [...line].length > 60 ? `${[...line].slice(0, 59).join('')}…` : line;
}

/** Prints the whole prompt and its token count. Used for --dry-run. */
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

/** Formats the cost of a prompt: `1,204 tokens instead of 48,320 pasted (o200k_base)`. */
function price({
  prompt,
  pasted,
  tokenizer,
  estimated,
}: Pick<PromptOutcome['tokens'], 'prompt' | 'pasted' | 'tokenizer' | 'estimated'>): string {
  return `${estimated ? 'about ' : ''}${count(prompt)} tokens instead of ${count(pasted)} pasted (${tokenizer})`;
}

/** Formats the tokens that the provider billed: `; billed 2,100 in (1,800 cached), 80 out`. */
function bill({ input_tokens, output_tokens, cached_input_tokens = 0 }: Billed): string {
  const cached = cached_input_tokens > 0 ? ` (${count(cached_input_tokens)} cached)` : '';
  return `; billed ${count(input_tokens)} in${cached}, ${count(output_tokens)} out`;
}

/** Prints the outcome of a prompt as notes on stderr. */
function printOutcome(io: Io, outcome: PromptOutcome): void {
  const { thread_id, artifact_ref, state_ref, billed, patch, session_cache_hit, model, tokens } = outcome;
  for (const warning of promptWarnings(model, { ...outcome, pulled_tokens: tokens.pulled }))
    io.warn(printable(warning));
  if (patch.status === 'refused')
    io.warn(`The state change by ${model} was rejected: ${patch.why}. The answer is stored.`);
  const cost = session_cache_hit
    ? 'answered from the session cache'
    : `${price(tokens)}${billed ? bill(billed) : ''}`;
  io.note(cost);
  const changes = patch.status === 'applied' ? ` (${patch.ops} changes)` : '';
  io.note(`answer ${artifact_ref} · state ${state_ref}${changes} · thread ${thread_id}`);
}

/**
 * Environment variables that select a model provider, in order. The help explains the variable of `compatible`
 * separately.
 */
const PROVIDER_VARIABLES = Object.values(PROVIDERS)
  .filter((row) => row !== PROVIDERS.compatible)
  .map(variableOf)
  .join(', ');

const run = defineCommand({
  usage: '"PROMPT" | -',
  details: `Short form: relay "PROMPT". The model gets the header of the thread, passages of its artifacts that match the prompt,
and the prompt. A model that supports tools can also search the thread and pull parts of artifacts. The answer is stored as
an artifact of the thread. The model may end its answer with a JSON Patch; relay applies it to the
facts, constraints, open questions, decisions, plan and summary in the state of the thread.

The provider is --provider, else RELAY_PROVIDER, else model_provider in config.json, else the first one whose variable is set:
${PROVIDER_VARIABLES}, or RELAY_MODEL_URL for an OpenAI-compatible server. The model is --model, else RELAY_MODEL, else the
entry in config.json, such as {"model_provider": "ollama", "models": {"ollama": "qwen3"}}, else a built-in default.
A model that sends nothing for five minutes is stopped; RELAY_MODEL_TIMEOUT=SECONDS changes this.

The exit code is 6 if the answer is empty, refused, or cut off at the token limit. The answer is stored anyway.`,
  flags: {
    ...PROMPT_FLAGS,
    provider: { value: 'NAME', help: `${PROVIDER_LIST} (RELAY_PROVIDER)` },
    model: { value: 'NAME', help: 'name of the model (RELAY_MODEL)' },
    'base-url': { value: 'URL', help: 'address of an OpenAI-compatible server (RELAY_MODEL_URL)' },
    'max-tokens': { value: 'N', help: 'maximum length of the answer in tokens' },
    cli: { value: 'PROGRAM', help: 'run a program instead of a model, like relay wrap run' },
    'no-tools': { help: 'do not give the model tools' },
    cache: { help: 'reuse the stored answer to an identical prompt' },
  },
  takes: { min: 1, max: 1 },
  examples: `
    relay "summarize this repo" --new --attach README.md  # ask about a file in a new thread
    relay run "and the risks?"  # continue in the default thread
    relay run "is it done?" --with spec.md  # include an artifact of the thread
    relay run "why?" --thread 550e8400 --dry-run  # show the prompt and its tokens only
    relay run "explain" --provider ollama --model qwen3  # ask a local model`,
  async run({ io, host, flags, args }) {
    const promptText = await promptWords(io, args);
    await using work = await host.agents.openWork(io.cwd);
    const choice = {
      provider: flags.provider,
      model: flags.model,
      baseUrl: flags['base-url'],
      maxTokens: parseCount(flags['max-tokens'] || undefined, '--max-tokens', { min: 1 }),
    };
    // Choose the model before creating a thread, so that a missing model leaves no thread behind.
    const model = flags['dry-run'] || flags.cli !== undefined ? null : work.model(choice);
    const ask = (bundle: Bundle) =>
      model === null
        ? runWrapped(io, work, bundle, { cli: flags.cli!, args: [] })
        : askModel(io, work, bundle, { model, cache: flags.cache, tools: !flags['no-tools'] });
    const reader = flags.cli !== undefined ? 'shell' : flags['no-tools'] ? 'none' : 'tools';
    return await withBundle({ io, host, flags }, work, promptText, ask, reader);
  },
});

async function askModel(
  io: Io,
  work: AgentWork,
  bundle: Bundle,
  { model, ...o }: { readonly model: Model; readonly cache?: boolean; readonly tools: boolean },
): Promise<number> {
  let answer = '';
  // Text before a tool call is not part of the answer. A pipe must get only the answer, so nothing is written
  // to a pipe before the end.
  const waits = !io.interactive && o.tools;
  const write = (text: string) => !io.json && io.stdout.write(passedOn(io, text));
  const onText = (text: string) => {
    answer += text;
    if (!waits) write(text);
  };
  const onPull = ({ what, tokens }: Pull) => {
    if (answer !== '' && !waits) write('\n');
    answer = '';
    io.note(`${model.name} pulled ${plural(tokens, 'token')}: ${what}`);
  };
  const onSilence = (ms: number, most: number) => {
    io.note(
      `${model.name} has sent nothing for ${span(ms)}. It is stopped after ${span(most)} without output.`,
    );
  };
  try {
    const outcome = await work.prompts.ask(bundle, model, { ...o, onText, onSilence, onPull });
    if (io.json) io.result({ ...outcome, text: answer }, '');
    else {
      if (waits) write(answer);
      if (!answer.endsWith('\n')) io.stdout.write('\n');
      printOutcome(io, outcome);
    }
    return outcome.incomplete ? EXIT.incomplete : EXIT.ok;
  } catch (error) {
    if (waits) write(answer);
    if (answer !== '' && !io.json) io.stdout.write('\n');
    throw error;
  }
}

/**
 * Runs a program with a prompt bundle. The output of the program is printed as it arrives, and stored in the
 * thread. Returns the exit code of the program.
 */
export async function runWrapped(
  io: Io,
  work: AgentWork,
  bundle: Bundle,
  call: Pick<ProgramRun, 'cli' | 'args' | 'promptBy'>,
): Promise<number> {
  const output = new OutputTee(io);
  const ended = work.programs.run({
    ...call,
    prompt: `${bundle.system}\n\n${bundle.user}`,
    terminal: false,
    thread: bundle.thread_id,
    onOutput: (chunk) => output.write(chunk),
    ...(io.stderr.isTTY ? { onComplaint: (chunk) => io.stderr.write(chunk) } : {}),
  });
  // Handle a rejection here, otherwise the runtime reports it as unhandled. `ended` is awaited below, where the error
  // is thrown.
  ended.catch(() => {}).finally(() => output.end());
  const anything = await output.began;
  let outcome: PromptOutcome | null = null;
  if (anything) {
    outcome = await work.prompts
      .record(bundle, {
        by: call.cli,
        body: output.body,
        name: `${call.cli.split(/[\\/]/).at(-1)}.md`,
        end: async () => {
          const { code, signal } = await ended;
          const more = { exit_code: code, ...(signal ? { signal } : {}) };
          return { tail: output.tail, more, failed: code !== 0 };
        },
      })
      .catch((error: unknown) => {
        // Keep the program running if its output cannot be stored: the output is still printed.
        io.warn(`The output of ${call.cli} could not be stored: ${(error as Error).message}`);
        return null;
      });
  }
  const { code } = await ended;
  if (!anything)
    await work.prompts
      .handedOver(bundle, call.cli)
      .catch((error: Error) => io.warn(`The prompt could not be recorded: ${error.message}`));
  if (io.json) io.result({ ...outcome, exit_code: code }, '');
  else if (outcome) printOutcome(io, outcome);
  else if (!anything) io.note(`${call.cli} printed nothing, so nothing was stored.`);
  if (outcome && code !== 0 && !io.json)
    io.note(`${call.cli} exited with ${code}. Its output is stored; the state was not changed.`);
  return code;
}

/** Copies the output of a program to stdout and to `body`, which is stored in the thread. */
class OutputTee {
  readonly #io: Io;
  readonly #decoder = new TextDecoder();
  readonly #stream = new TransformStream<Uint8Array, Uint8Array>();
  readonly #writer = this.#stream.writable.getWriter();
  readonly #began = Promise.withResolvers<boolean>();
  readonly body = this.#stream.readable;
  /** Resolves to true when the first output arrives, or to false if the program ends without output. */
  readonly began = this.#began.promise;
  /** The last ANSWER_TAIL_CHARS characters of the output. */
  tail = '';

  constructor(io: Io) {
    this.#io = io;
  }

  async write(chunk: Uint8Array): Promise<void> {
    // With --json, stdout contains only the result. If stdout is closed, continue, so that the program ends
    // normally and its output is stored.
    if (!this.#io.json) await this.#io.stdout.send(chunk).catch(() => {});
    this.tail = (this.tail + this.#decoder.decode(chunk, { stream: true })).slice(-ANSWER_TAIL_CHARS);
    this.#began.resolve(true);
    // Ignore an error of storing the output: the terminal still shows it.
    await this.#writer.write(chunk.slice()).catch(() => {});
  }

  end(): void {
    this.#began.resolve(false);
    // Ignore a failure: closing fails if storing has failed, because the stream is then already closed.
    this.#writer.close().catch(() => {});
  }
}

export const commands = { run };
