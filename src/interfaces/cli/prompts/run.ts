import type { Bundle, Model, Pull } from '../../../client/prompts/types.ts';
import { defineCommand } from '../command.ts';
import type { AgentWork } from '../host-agents.ts';
import { count, parseCount, printable, span } from '../human.ts';
import type { Io } from '../io.ts';
import { PROMPT_FLAGS, promptWords, tellOutcome, withBundle } from './prompt-call.ts';
import { runWrapped } from './wrapped-run.ts';

export default defineCommand({
  usage: '"WORDS" | -',
  details: `relay "WORDS" is the same. The prompt is bounded: the state of the thread, what its artifacts say
about the words, and the words. A model that can call tools may search the thread and pull parts of artifacts while it answers, within
limits; what that cost is told. The answer is kept as an artifact of the thread. Anthropic is asked (ANTHROPIC_API_KEY) unless
another provider is named, or only another one's variable is set: OPENAI_API_KEY, GEMINI_API_KEY, OLLAMA_HOST, or
RELAY_MODEL_URL for anything that speaks like OpenAI. Which of its models: --model, else RELAY_MODEL, else "models" in config.json, such as
{"model_provider": "ollama", "models": {"ollama": "qwen3"}}, else one that is built in. A model that sends nothing
for five minutes is given up: RELAY_MODEL_TIMEOUT=SECONDS waits longer, or less.`,
  flags: {
    ...PROMPT_FLAGS,
    provider: { value: 'NAME', help: 'anthropic, openai, gemini, ollama or compatible (RELAY_PROVIDER)' },
    model: { value: 'NAME', help: 'which of its models (RELAY_MODEL)' },
    'base-url': { value: 'URL', help: 'where an OpenAI-compatible server is (RELAY_MODEL_URL)' },
    'max-tokens': { value: 'N', help: 'how much it may say at most' },
    cli: { value: 'PROGRAM', help: 'ask a program instead, as relay wrap run does' },
    'no-tools': { help: 'the model answers from the prompt alone' },
    cache: { help: 'take the answer to an identical prompt, where there is one' },
  },
  takes: { min: 1, max: 1 },
  examples: [
    ['relay "summarise this repo" --new --attach README.md', 'a new thread, a file, an answer'],
    ['relay run "and the risks?"', 'go on with the thread used last'],
    ['relay run "is it done?" --with spec.md', 'an artifact of the thread that is shown in any case'],
    ['relay run "why?" --thread 550e8400 --dry-run', 'see the prompt and its price first'],
    ['relay run "explain" --provider ollama --model qwen3', 'ask a model of your own'],
  ],
  async run({ io, host, flags, args }) {
    const words = await promptWords(io, args);
    await using work = await host.openAgentWork(io.cwd);
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
  const write = (text: string) => !io.json && io.stdout.write(io.interactive ? printable(text) : text);
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
