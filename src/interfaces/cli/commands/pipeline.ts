import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { EXIT, isRelayError, RelayError } from '../../../base/errors.ts';
import { count } from '../../../base/format.ts';
import { PIPELINE_PARALLEL_MAX, PULL_TOKENS } from '../../../base/limits.ts';
import { readText } from '../../../base/utf8.ts';
import type { Ran, Runner } from '../../../client/bridge/runner.ts';
import { priceOf } from '../../../client/pipelines/budget.ts';
import type { Pipeline, PipelineFile, Problem } from '../../../client/pipelines/definition.ts';
import { mermaid, rounds } from '../../../client/pipelines/graph.ts';
import type { StepRecord } from '../../../client/pipelines/journal.ts';
import { type RunOptions, type RunSummary, stepOf } from '../../../client/pipelines/pipelines.ts';
import { readPipeline, soundPipeline } from '../../../client/pipelines/read-pipeline.ts';
import type { Progress } from '../../../client/pipelines/step-runner.ts';
import { PIPELINE_RUNNER } from '../../../contract/tasks.ts';
import { promptWarnings } from '../../../contract/threads.ts';
import { readYaml } from '../../../formats/yaml.ts';
import {
  answerCommand,
  badUsage,
  defineCommand,
  type Flags,
  type FlagValues,
  refusal,
  rejectTogether,
} from '../command.ts';
import type { AgentWork, Host } from '../host.ts';
import { columns, moment, parseCount, plural, printable, rows, span } from '../human.ts';
import { ESCAPE, INTERRUPTED, type Io, interruption, type Style } from '../io.ts';
import { findThread } from '../thread-choice.ts';

const RUN_FLAGS = {
  input: { value: 'NAME=VALUE', multiple: true, short: 'i', help: 'set an input of the pipeline' },
  'max-parallel': { value: 'N', help: 'run at most N steps at once' },
  resume: { help: 'continue the newest unfinished run of this pipeline' },
  run: { value: 'ID', help: 'continue this run' },
  of: {
    value: 'RUN',
    help: 'start a new run; reuse the results of RUN for all steps not repeated by --from',
  },
  from: { value: 'STEP', help: 'with --of: repeat this step and all steps that depend on it' },
  'take-over': { help: 'continue a run at once, even if another process holds its lease' },
  only: { value: 'STEP', multiple: true, help: 'run only this step and the steps it needs' },
  'dry-run': { help: 'estimate calls, tokens and cost of FILE, and run nothing' },
} as const satisfies Flags;

const run = defineCommand({
  usage: 'FILE | --run ID | --of RUN --from STEP',
  details: `Each run is stored as a thread. A step starts when the steps it needs are done. A failed step stops only the steps that
depend on it. A step that needs a skipped step is skipped too. Exception: if the condition (when) of a step reads the
status of a failed or skipped step, such as steps.ID.status == 'failed', the step runs if the condition is true. After a failure, a crash or Ctrl-C, --resume continues the run: finished steps are not
repeated, failed and interrupted steps run again. The command of a step gets an idempotency key in RELAY_STEP_KEY. The key is the same when the step runs again, so the command can detect a repetition. Only one process works on a run at a time. If
that process is alive, the command fails. If relay cannot tell whether it is alive, the command waits until the lease ends;
--take-over does not wait. The output of the last steps goes to standard output, everything else to standard error.

At the end, the run warns about each step whose prompt showed only a part of its context, and about each answer that is
empty, refused or cut off. The exit code is 6 if the run is done and an answer is incomplete.`,
  flags: RUN_FLAGS,
  takes: { max: 1 },
  examples: `
    relay pipeline run review.yaml --input branch=main  # start a run
    relay pipeline run review.yaml --dry-run  # estimate tokens and cost
    relay pipeline run review.yaml --resume  # continue after a crash, a failure or Ctrl-C
    relay pipeline run --run 550e8400  # continue this run with the file it was started with
    relay pipeline run --of 550e8400 --from review  # repeat the step review and later steps in a new run`,
  async run({ io, host, flags, args }) {
    const file = args[0] === undefined ? null : await readPipelineFile(io, args[0]);
    if (!file && !flags.run && !flags.of)
      throw badUsage(
        'relay pipeline run needs a file, --run ID or --of RUN.',
        'See relay pipeline run --help.',
      );
    checkRerun(flags);
    if (flags['dry-run']) return await printEstimate(io, host, file);
    const parallel = flags['max-parallel'] || undefined;
    const only = flags.only?.flatMap((ids) => ids.split(',')).filter((id) => id !== '');
    await using work = await host.agents.openWork(io.cwd);
    using stop = interruption(() => io.note('Stopping. Press Ctrl-C again to stop at once.'));
    let progress: RunProgress | null = null;
    const o: RunOptions = {
      signal: stop.signal,
      maxParallel: parseCount(parallel, '--max-parallel', { min: 1, max: PIPELINE_PARALLEL_MAX }),
      only,
      takeOver: flags['take-over'],
      waiting: ({ holder, until }) => {
        const left = Math.max(1, Math.ceil((Date.parse(until) - Date.now()) / 1000));
        io.note(
          `Another process holds this run: ${printable(holder)}. If that process has died, its lease ends in ${left} s and the run continues here. Use --take-over to continue at once.`,
        );
      },
      onStart: (run, pipeline) => {
        if (!io.json) io.note(`run ${run}`);
        progress = new RunProgress(io, only?.length ?? pipeline.steps.length);
      },
      progress: (event) => progress?.update(event),
    };
    let summary: RunSummary;
    try {
      if (flags.of !== undefined) {
        const of = await findThread(work.threads, flags.of);
        summary = await work.pipelines.rerun(of, flags.from!, file, o);
      } else {
        const run = await runToResume(work, file, flags);
        summary =
          run === null
            ? await work.pipelines.start(file!, inputs(flags.input), o)
            : await work.pipelines.resume(run, file, o);
      }
    } finally {
      (progress as RunProgress | null)?.[Symbol.dispose]();
    }
    return await printRun(io, work, summary);
  },
});

function checkRerun(flags: FlagValues<typeof RUN_FLAGS>): void {
  if ((flags.of === undefined) !== (flags.from === undefined))
    throw badUsage(
      '--of RUN and --from STEP must be used together.',
      'For example: --of 550e8400 --from review',
    );
  if (flags.of === undefined) return;
  if (flags.run !== undefined || flags.resume)
    throw badUsage(
      '--of starts a new run and cannot be combined with --run or --resume.',
      'Omit --run and --resume.',
    );
  if (flags.input) throw badUsage('--of reuses the inputs of the earlier run.', 'Omit --input.');
}

/** Returns the id of the run to resume, or null if a new run is to be started. */
async function runToResume(
  work: AgentWork,
  file: PipelineFile | null,
  flags: FlagValues<typeof RUN_FLAGS>,
): Promise<string | null> {
  const isResume = flags.run !== undefined || flags.resume;
  rejectTogether(flags, 'run', 'resume');
  if (isResume && flags.input)
    throw badUsage('A resumed run keeps its inputs.', 'Omit --input, or start a new run.');
  if (flags.run !== undefined) return findThread(work.threads, flags.run);
  if (!flags.resume) return null;
  const name = readPipeline(file!.text, file!.name).pipeline?.name ?? file!.name;
  const runs = await work.pipelines.list({ limit: 20, pipeline: name });
  const open = runs.find(({ status }) => status !== 'done');
  if (open) return open.run;
  throw refusal(
    'missing',
    `unfinished run of ${name}`,
    'Omit --resume to start a new run. relay pipeline list shows the runs.',
  );
}

function inputs(pairs: readonly string[] | undefined): { [name: string]: string } {
  return Object.fromEntries(
    (pairs ?? []).map((pair) => {
      const at = pair.indexOf('=');
      if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
      throw badUsage(`--input needs NAME=VALUE, not "${pair}".`, 'For example: --input topic=tea');
    }),
  );
}

async function printRun(io: Io, work: AgentWork, summary: RunSummary): Promise<number> {
  const { run, status, results } = summary;
  if (io.json) io.result(summary, '');
  else {
    let last: number | undefined;
    for (const { ref } of results) {
      const { body } = await work.threads.content(run, ref, { counted: !io.interactive });
      // Start the output of each step on a new line.
      if (last !== undefined && last !== LINE_FEED) io.stdout.write('\n');
      for await (const chunk of body instanceof Uint8Array ? [body] : body) {
        await io.stdout.send(chunk);
        last = chunk.at(-1) ?? last;
      }
    }
    if (io.interactive && last !== undefined && last !== LINE_FEED) io.stdout.write('\n');
    for (const warning of stepWarnings(summary)) io.warn(warning);
    io.note(`${tally(summary)} · run ${run}`);
  }
  const isIncomplete = summary.steps.some(({ incomplete }) => incomplete !== undefined);
  if (status === 'done' || status === 'partial') return isIncomplete ? EXIT.incomplete : EXIT.ok;
  if (!io.json) io.note(`continue with: relay pipeline run --run ${run}`);
  return status === 'interrupted' ? INTERRUPTED : EXIT.failed;
}

/** Maximum number of warnings that are printed after a run. */
const MAX_WARNINGS = 10;

function stepWarnings({ run, steps }: RunSummary): string[] {
  const warnings = steps.flatMap((step) => promptWarnings(step.step, step));
  const more = warnings.length - MAX_WARNINGS;
  return [
    ...warnings.slice(0, MAX_WARNINGS).map(printable),
    ...(more > 0 ? [`${plural(more, 'more warning')}: relay pipeline show ${run}`] : []),
  ];
}

const LINE_FEED = 0x0a;
const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const REDRAW_MS = 100;
/** Maximum number of running steps that a terminal lists. Further steps are only counted. */
const ROWS = 8;

/**
 * Shows the progress of a run on stderr: one line per event and, at a terminal, a live list of the running
 * steps below.
 */
class RunProgress implements Disposable {
  readonly #io: Io;
  readonly #total: number;
  readonly #running = new Map<string, { since: number; lastLine: string; attempt: number }>();
  readonly #timer: NodeJS.Timeout | null;
  readonly #ended = new Set<string>();
  #drawn = 0;
  #tick = 0;

  constructor(io: Io, total: number) {
    this.#io = io;
    this.#total = total;
    const live = io.stderr.isTTY && !io.json;
    this.#timer = live ? setInterval(() => this.#draw(), REDRAW_MS) : null;
  }

  update(progress: Progress): void {
    const { step, status, attempt = 1, text } = progress;
    if (status === 'said') {
      const row = this.#running.get(step);
      const line = text?.trim().split('\n').at(-1)?.trim();
      if (row && line) row.lastLine = line;
      return;
    }
    if (status === 'running') {
      this.#running.set(step, { since: performance.now(), lastLine: '', attempt });
      if (!this.#timer && !this.#io.json && attempt === 1) this.#line(`${step} running`);
      return;
    }
    if (status !== 'retrying' && status !== 'waiting') {
      this.#running.delete(step);
      this.#ended.add(outerStep(step));
    }
    if (this.#io.json) return;
    this.#erase();
    this.#line(this.#format(progress));
  }

  [Symbol.dispose](): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#erase();
  }

  #format({ step, status, duration_ms, ref, cached, known: recorded, why, attempt, text }: Progress): string {
    const style = this.#io.errorStyle;
    if (status === 'waiting') {
      const link = ref ? `, or open ${ref}` : '';
      const how = this.#io.typed(`relay approve ${text}`);
      return `${step} ${style.yellow('waits for a person')}: ${printable(why ?? '')}\n  answer with: ${how}${link}`;
    }
    if (status === 'retrying')
      return `${step} ${style.yellow('retry')} in ${seconds(duration_ms ?? 0)}: ${printable(why ?? '')}`;
    const notes = [
      ...(recorded ? ['recorded before'] : cached ? ['from the cache'] : []),
      ...(!recorded && !cached && duration_ms !== undefined ? [seconds(duration_ms)] : []),
      ...((attempt ?? 1) > 1 ? [`attempt ${attempt}`] : []),
      ...(why ? [printable(why)] : []),
      ...(ref ? [ref] : []),
    ];
    return `${step} ${paint(status, style).trimEnd()} ${style.dim(notes.join(' · '))}`.trimEnd();
  }

  #line(text: string): void {
    this.#io.stderr.write(`${text}\n`);
  }

  #draw(): void {
    this.#erase();
    const { stderr, errorStyle: style } = this.#io;
    const frame = FRAMES[this.#tick++ % FRAMES.length]!;
    const now = performance.now();
    const rows = [...this.#running].slice(0, ROWS).map(([step, { since, lastLine }]) => {
      const head = `${frame} ${step} ${seconds(now - since)}`;
      const room = stderr.columns - head.length - 3;
      return `${head} ${room > 10 ? style.dim(printable(lastLine).slice(0, room)) : ''}`;
    });
    const more = this.#running.size - rows.length;
    const working = new Set([...this.#running.keys()].map(outerStep));
    const ended = [...this.#ended].filter((step) => !working.has(step)).length;
    rows.push(style.dim(`${ended} of ${this.#total} done${more > 0 ? `, ${more} more running` : ''}`));
    stderr.write(`${rows.join('\n')}\n`);
    this.#drawn = rows.length;
  }

  #erase(): void {
    if (this.#drawn > 0) this.#io.stderr.write(`${ESCAPE}[${this.#drawn}A${ESCAPE}[J`);
    this.#drawn = 0;
  }
}

/** Returns the name of the step in this file: `each` for `each[2]`, and `docs` for `docs/build`, a step of another file. */
function outerStep(name: string): string {
  return name.split(/[[/]/, 1)[0]!;
}

const validate = defineCommand({
  usage: 'FILE',
  details:
    'The exit code is 2 if there is an error. Warnings, for example about an unused input, do not change the exit code.',
  takes: { min: 1 },
  examples: 'relay pipeline validate review.yaml  # print errors as file:line: message',
  async run({ io, host, args }) {
    const file = await readPipelineFile(io, args[0]!);
    const { pipeline, problems: found } = readPipeline(file.text, file.name);
    // Checking programs and models opens the store, so do it only if the pipeline uses any.
    const isLocal = Object.values(pipeline?.agents ?? {}).some(
      ({ kind }) => kind === 'cli' || kind === 'provider',
    );
    await using work = isLocal ? await host.agents.openWork(io.cwd) : null;
    const outside = pipeline ? outsideProblems(file, pipeline, work) : [];
    // If a line has an error, omit its warnings: they are probably about the same mistake.
    const isWrong = (line: number) => found.some((one) => one.line === line && one.severity === 'error');
    const more = outside.filter(({ line, severity }) => severity === 'error' || !isWrong(line));
    const problems = [...found, ...more].sort((a, b) => a.line - b.line);
    const ok = problems.every(({ severity }) => severity === 'warning');
    const lines = problems.map(({ line, what, severity }) => {
      const mark = severity === 'warning' ? io.style.yellow('warning: ') : '';
      return `${file.file}:${line}: ${mark}${what}`;
    });
    if (ok && pipeline)
      lines.push(`${io.style.green('ok')} ${pipeline.name}: ${plural(pipeline.steps.length, 'step')}`);
    io.result({ ok, problems }, lines.join('\n'));
    return ok ? EXIT.ok : EXIT.usage;
  },
});

/**
 * Finds problems that depend on more than the file: missing programs, models without a price, and errors and wrong
 * inputs of the pipelines that the file uses.
 */
function outsideProblems(file: PipelineFile, pipeline: Pipeline, work: AgentWork | null): Problem[] {
  const yaml = readYaml(file.text);
  const problems: Problem[] = [];
  const add = (path: (string | number)[], severity: Problem['severity'], what: string) =>
    problems.push({ line: yaml.lineOf(path), what, severity });
  for (const [name, agent] of work ? Object.entries(pipeline.agents) : []) {
    if (agent.kind === 'cli' && !work!.programs.exists(agent.cli))
      add(['agents', name, 'cli'], 'warning', `the program "${agent.cli}" is not installed`);
    if (agent.kind !== 'provider') continue;
    try {
      const { name: model } = work!.model({
        provider: agent.provider,
        model: agent.model,
        baseUrl: agent.base_url,
      });
      const { prices } = work!;
      if (priceOf(prices, model, NO_TOKENS) !== null) continue;
      if (usesMoney(pipeline, name))
        add(['agents', name], 'error', `the price of ${model} is unknown; add it to "prices" in config.json`);
      else if (agent.model !== undefined && Object.keys(prices.models).length > 0)
        add(
          ['agents', name, 'model'],
          'warning',
          `"prices" in config.json does not have the model "${agent.model}"`,
        );
    } catch (error) {
      if (!isRelayError(error)) throw error;
      add(['agents', name, 'provider'], 'warning', error.message);
    }
  }
  for (const [at, { id, own }] of pipeline.steps.entries()) {
    const used = own?.kind === 'pipeline' ? file.uses?.[own.uses] : undefined;
    const inner = used && readPipeline(used.text, used.name);
    const wrong = inner?.problems.find(({ severity }) => severity === 'error');
    if (wrong) add(['steps', at, 'uses'], 'error', `${used!.file}:${wrong.line}: ${wrong.what}`);
    if (own?.kind !== 'pipeline' || !inner?.pipeline) continue;
    for (const name of Object.keys(own.args))
      if (!Object.hasOwn(inner.pipeline.inputs, name))
        add(['steps', at, 'with', name], 'error', `${used!.file} has no input "${name}"`);
    for (const [name, { value }] of Object.entries(inner.pipeline.inputs))
      if (value === undefined && own.args[name] === undefined)
        add(['steps', at], 'error', `the step "${id}" does not set the input "${name}" of ${used!.file}`);
  }
  return problems;
}

const NO_TOKENS = { input_tokens: 0, output_tokens: 0 };

const usesMoney = ({ budget, steps }: Pipeline, agent: string) =>
  [budget, ...steps.filter((step) => step.agent === agent).map((step) => step.budget)].some(
    (one) => one?.money !== undefined,
  );

/** Maximum depth of pipelines that use other pipelines. */
const USES_DEPTH = 8;

/**
 * Reads a pipeline file and the files of the pipelines that it uses. `chain` contains the files that use this one, from
 * the first one down.
 */
async function readPipelineFile(io: Io, name: string, chain: readonly string[] = []): Promise<PipelineFile> {
  const path = resolve(io.cwd, name);
  if (chain.includes(path) || chain.length >= USES_DEPTH) {
    const around = [...chain.slice(chain.indexOf(path)), path].map((one) => basename(one)).join(' → ');
    const what = chain.includes(path)
      ? `Pipelines use each other in a circle: ${around}.`
      : `Pipelines may use each other at most ${USES_DEPTH} levels deep.`;
    throw new RelayError('bad_pipeline', { what, file: name });
  }
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new RelayError('missing', { what: `file ${name}` });
    throw new RelayError('failed', { what: `${name} cannot be read (${code}).` });
  }
  const file = { text, file: name, name: basename(name, extname(name)) };
  const steps = readPipeline(text, file.name).pipeline?.steps ?? [];
  const names = steps.flatMap(({ own }) => (own?.kind === 'pipeline' && own.uses !== '' ? [own.uses] : []));
  if (names.length === 0) return file;
  const uses: { [path: string]: PipelineFile } = {};
  for (const used of new Set(names))
    uses[used] = await readPipelineFile(io, join(dirname(name), used), [...chain, path]);
  return { ...file, uses };
}

/** Prints an estimate of the tokens and the cost of each step of a pipeline. */
async function printEstimate(io: Io, host: Host, file: PipelineFile | null): Promise<number> {
  if (!file)
    throw badUsage('--dry-run needs a file.', 'For example: relay pipeline run review.yaml --dry-run');
  const pipeline = soundPipeline(file);
  await using work = await host.agents.openWork(io.cwd);
  const rows = await estimateSteps(file, host, work, '', 1);
  const total = rows.reduce((sum, { most }) => sum + (most ? most.input + most.output : 0), 0);
  const priced = rows.flatMap(({ cost }) => (typeof cost === 'number' ? [cost] : []));
  const money = priced.length > 0 ? priced.reduce((sum, cost) => sum + cost, 0) : null;
  const { date = null, currency = '' } = work.prices;
  const unknownLists = rows.filter(({ isListUnknown }) => isListUnknown).map(({ step }) => step);
  const lines = rows.map(({ step, kind, model, calls, most, cost }) => {
    const tokens = most ? `at most ${count(most.input)} tokens in, ${count(most.output)} out` : '';
    const price = typeof cost === 'number' ? `${cost.toFixed(4)} ${currency}` : most ? 'price unknown' : '';
    const times = calls.least === calls.most ? `${calls.least} ×` : `${calls.least} to ${calls.most} ×`;
    return [step, model ?? kind, times, tokens, price];
  });
  const sum = `at most ${count(total)} tokens${money === null ? '' : `, ${money.toFixed(4)} ${currency}`}`;
  const dated = date ? ` (prices of ${date})` : '';
  const lists =
    unknownLists.length > 0
      ? `\nCounted once, because the list is not known yet: ${unknownLists.join(', ')}.`
      : '';
  const limits = pipeline.budget ? { budget: pipeline.budget } : {};
  io.result(
    { pipeline: pipeline.name, steps: rows, tokens: total, money, currency, prices_date: date, ...limits },
    `${columns(lines)
      .map((line) => line.trimEnd())
      .join('\n')}\n${sum}${dated}${lists}`,
  );
  return EXIT.ok;
}

interface Estimate {
  readonly step: string;
  readonly agent: string;
  readonly kind: string;
  readonly model?: string;
  readonly calls: { readonly least: number; readonly most: number };
  readonly least?: { readonly input: number };
  readonly most?: { readonly input: number; readonly output: number };
  readonly cost?: number | null;
  readonly isListUnknown: boolean;
}

/**
 * Estimates each step of a pipeline, and of the pipelines that it uses. The pipeline itself runs at most
 * `times` times.
 */
async function estimateSteps(
  file: PipelineFile,
  host: Host,
  work: AgentWork,
  prefix: string,
  times: number,
): Promise<Estimate[]> {
  const pipeline = soundPipeline(file);
  const rows: Estimate[] = [];
  for (const { id, agent: name, own, prompt, context, pulls, forEach, until, retry } of pipeline.steps) {
    const agent = own ?? pipeline.agents[name]!;
    const items = Array.isArray(forEach) ? forEach.length : 1;
    const calls = { least: items, most: times * items * (until?.max ?? 1) * (1 + retry.max) };
    const step = prefix + id;
    const row = { step, agent: name, kind: agent.kind, calls, isListUnknown: typeof forEach === 'string' };
    if (agent.kind !== 'provider') rows.push(row);
    const used = agent.kind === 'pipeline' ? file.uses?.[agent.uses] : undefined;
    if (used) rows.push(...(await estimateSteps(used, host, work, `${step}/`, calls.most)));
    if (agent.kind !== 'provider') continue;
    const { tokens } = await host.program.countTokens(`${agent.system ?? ''}\n${prompt}`);
    const promptTokens = tokens + context.length * PREVIEW_TOKENS;
    const most = {
      input: (promptTokens + (pulls.tokens ?? PULL_TOKENS)) * calls.most,
      output: (agent.max_tokens ?? ANSWER_TOKENS) * calls.most,
    };
    const model = work.model({ provider: agent.provider, model: agent.model, baseUrl: agent.base_url }).name;
    const cost = priceOf(work.prices, model, { input_tokens: most.input, output_tokens: most.output });
    rows.push({ ...row, model, least: { input: promptTokens * calls.least }, most, cost });
  }
  return rows;
}

/** Assumed number of tokens of an answer if the agent sets no `max_tokens`. */
const ANSWER_TOKENS = 4_096;
/** Assumed number of tokens of the preview of one artifact. */
const PREVIEW_TOKENS = 600;

const graph = defineCommand({
  usage: '[FILE] | --run ID',
  details: 'Without FILE and --run it draws pipeline.yaml.',
  flags: {
    run: { value: 'ID', help: 'draw this run with the status of each step' },
    mermaid: { help: 'print Mermaid (default in a pipe)' },
    text: { help: 'print text (default at a terminal)' },
  },
  takes: { max: 1 },
  examples: `
    relay pipeline graph review.yaml  # print the steps in the order they run
    relay pipeline graph review.yaml --mermaid  # print a Mermaid diagram
    relay pipeline graph --run 550e8400  # print a run`,
  async run({ io, host, flags, args }) {
    let pipeline: Pipeline;
    let statusOf: (step: string) => string | undefined = () => undefined;
    if (flags.run !== undefined) {
      await using work = await host.agents.openWork(io.cwd);
      const run = await work.pipelines.show(await findThread(work.threads, flags.run));
      pipeline = run.pipeline;
      statusOf = statuses(run.summary);
    } else {
      pipeline = soundPipeline(await readPipelineFile(io, args[0] ?? 'pipeline.yaml'));
    }
    const drawn = mermaid(pipeline, statusOf);
    const asText = flags.text || (io.interactive && !flags.mermaid);
    const steps = pipeline.steps.map(({ id, agent, needs }) => ({ id, agent, needs, status: statusOf(id) }));
    io.result({ name: pipeline.name, steps, mermaid: drawn }, () =>
      asText ? inRounds(pipeline, statusOf, io.style) : drawn,
    );
  },
});

/**
 * Returns a function that looks up the status of a step. For a step that runs once per item, the worst status
 * of its items counts.
 */
function statuses({ steps }: RunSummary): (step: string) => string | undefined {
  const found = new Map<string, string>();
  const worst = ['failed', 'blocked', 'running', 'pending', 'skipped', 'done'];
  for (const { step, status } of steps) {
    const id = stepOf(step);
    const previous = found.get(id);
    if (previous === undefined || worst.indexOf(status) < worst.indexOf(previous)) found.set(id, status);
  }
  return (step) => found.get(step);
}

function inRounds(pipeline: Pipeline, statusOf: (step: string) => string | undefined, style: Style): string {
  const width = Math.max(...pipeline.steps.map(({ id }) => id.length)) + 2;
  return rounds(pipeline.steps)
    .flatMap((steps, round) =>
      steps.map(({ id, agent, needs, forEach }, i) => {
        const number = i === 0 ? String(round + 1).padStart(2) : '  ';
        const status = statusOf(id);
        const from = needs.length > 0 ? style.dim(`← ${needs.join(', ')}`) : '';
        const who = style.cyan(`${agent}${forEach === undefined ? '' : ' ×'}`);
        return `${number}  ${id.padEnd(width)}${status ? paint(status, style) : ''}${who}  ${from}`.trimEnd();
      }),
    )
    .join('\n');
}

const list = answerCommand({
  usage: '[PIPELINE]',
  flags: { limit: { value: 'N', help: 'show at most N runs (20)' } },
  examples: `
    relay pipeline list  # list the newest runs
    relay pipeline list review  # list the runs of one pipeline`,
  async ask({ io, host, flags, args }) {
    const limit = parseCount(flags.limit || undefined, '--limit', { min: 1, max: 1000 }) ?? 20;
    await using work = await host.agents.openWork(io.cwd);
    return { runs: await work.pipelines.list({ limit, pipeline: args[0] }) };
  },
  print({ runs }, { style }) {
    const width = Math.max(0, ...runs.map(({ pipeline }) => pipeline.length)) + 2;
    const lines = runs.map((run) => {
      const facts = style.dim(`${tally(run)} · ${moment(run.started_at)}`);
      return `${run.run}  ${run.pipeline.padEnd(width)}${paint(run.status, style)}  ${facts}`;
    });
    return lines.join('\n') || 'There are no runs yet.';
  },
});

const show = answerCommand({
  usage: 'RUN',
  flags: {
    step: { value: 'STEP', help: 'show this step and the output of its last attempt' },
    attempt: { value: 'N', help: 'with --step: show the output of this attempt' },
  },
  takes: { min: 1 },
  examples: `
    relay pipeline show 550e8400  # show each step with the ref of its result
    relay pipeline show 550e8400 --step test --attempt 2  # print the output of the second attempt`,
  async ask({ io, host, flags, args }) {
    await using work = await host.agents.openWork(io.cwd);
    const run = await findThread(work.threads, args[0]!);
    const { summary } = await work.pipelines.show(run);
    if (flags.step === undefined) {
      if (flags.attempt !== undefined)
        throw badUsage('--attempt needs --step.', 'For example: --step test --attempt 2');
      return { summary, output: null };
    }
    const step = findStep(summary, flags.step);
    const attempt = parseCount(flags.attempt || undefined, '--attempt', { min: 1, max: 1000 });
    return { summary: { ...summary, steps: [step] }, output: await outputOf(work, run, step, attempt) };
  },
  json: ({ summary, output }) => (output === null ? summary : { ...summary, output }),
  print({ summary, output }, { style }) {
    if (output !== null) return `${stepTable(summary, style)}\n\n${output.text}`;
    const { run, pipeline, status, started_at, inputs } = summary;
    const facts = rows(style.dim, [
      ['run', run],
      ['pipeline', pipeline],
      ['status', status],
      ['started', moment(started_at)],
      ['why', summary.why ?? null],
      ['spent', summary.spent.tokens > 0 ? spentText(summary) : null],
      ...Object.entries(inputs).map(([name, value]) => [`input ${name}`, JSON.stringify(value)] as const),
    ]);
    return `${facts}\n\n${stepTable(summary, style)}`;
  },
});

/** Formats the outcome of each step, one line per step. */
function stepTable({ steps }: RunSummary, style: Style): string {
  const width = Math.max(4, ...steps.map(({ step }) => step.length)) + 2;
  return steps
    .map((record) => {
      const { step, status, ref, why, duration_ms, attempts, cached, attempt_refs } = record;
      const notes = [
        ...(cached ? ['from the cache'] : duration_ms !== undefined ? [seconds(duration_ms)] : []),
        ...(attempts > 1 ? [`${attempts} attempts`] : []),
        ...(why ? [why] : []),
        ...waitingText(record),
        ...promptWarnings('it', record).map(printable),
        ...(ref ? [ref] : []),
        ...(attempt_refs ? [`output of failed attempts: ${attempt_refs.join(', ')}`] : []),
      ];
      return `${step.padEnd(width)}${paint(status, style)}  ${style.dim(notes.join(' · '))}`.trimEnd();
    })
    .join('\n');
}

export function paint(status: string, style: Style): string {
  const word = status.padEnd(11);
  if (status === 'done') return style.green(word);
  if (status === 'failed') return style.red(word);
  return status === 'running' ? style.cyan(word) : style.yellow(word);
}

/** Counts the steps by status: `3 done, 1 failed, 2 blocked`. */
export function tally(summary: Pick<RunSummary, 'steps'>): string {
  const groups = Map.groupBy(summary.steps, ({ status }) => status);
  return [...groups].map(([status, { length }]) => `${length} ${status}`).join(', ') || plural(0, 'step');
}

export function seconds(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : span(ms);
}

/**
 * Matches the two commands that the pipeline runner accepts as a task. The dashboard sends them in exactly
 * this form.
 */
const ORDER = /^relay pipeline run (?:--run ([0-9a-f-]{36})|--of ([0-9a-f-]{36}) --from ([\w.-]+))\s*$/;

/**
 * Creates a runner that resumes pipeline runs and repeats steps. It reads pipelines only from files in the
 * folder, never from the copy in a run: anyone who may write threads could have changed the copy.
 */
export function pipelineRunner(io: Io, host: Host, folder: string): Runner {
  return {
    kind: PIPELINE_RUNNER,
    target: folder,
    async open() {
      await pipelineFiles(io, folder);
    },
    async run({ text, signal }): Promise<Ran> {
      const [, resume, of, from] = ORDER.exec(text.trim()) ?? [];
      const run = resume ?? of;
      if (run === undefined)
        return {
          output: '',
          failed: 'This bridge accepts only: relay pipeline run --run ID, or --of RUN --from STEP.',
        };
      await using work = await host.agents.openWork(io.cwd);
      try {
        const { pipeline } = await work.threads.run(run);
        const file = (await pipelineFiles(io, folder)).get(pipeline);
        if (!file)
          return { output: '', failed: `The folder ${folder} has no file for the pipeline ${pipeline}.` };
        const summary = from
          ? await work.pipelines.rerun(run, from, file, { signal })
          : await work.pipelines.resume(run, file, { signal });
        const output = `run ${summary.run} of ${pipeline}: ${summary.status}`;
        return summary.status === 'done' ? { output } : { output, failed: output };
      } catch (error) {
        if (!isRelayError(error)) throw error;
        return { output: '', failed: error.message };
      }
    },
    close: async () => {},
  };
}

/** Returns the pipeline files of a folder by pipeline name. Ignores other YAML files. */
async function pipelineFiles(io: Io, folder: string): Promise<Map<string, PipelineFile>> {
  const found = new Map<string, PipelineFile>();
  const names = await readdir(resolve(io.cwd, folder)).catch(() => {
    throw new RelayError('missing', { what: `folder ${folder}` });
  });
  for (const name of names.filter((one) => /\.ya?ml$/.test(one)).sort()) {
    const file = await readPipelineFile(io, join(folder, name));
    const { pipeline } = readPipeline(file.text, file.name);
    if (pipeline && !found.has(pipeline.name)) found.set(pipeline.name, file);
  }
  return found;
}

function spentText({ spent }: RunSummary): string {
  return `${count(spent.tokens)} tokens${spent.money > 0 ? `, ${spent.money.toFixed(4)}` : ''}`;
}

/** Describes what a step waits for: a person, or the time of the next attempt. */
function waitingText({ question, failures, status }: StepRecord): string[] {
  if (question && status === 'running')
    return [`waits for a person: ${printable(question.question)} (${question.id})`];
  const last = failures?.at(-1);
  if (status !== 'running' || !last?.wait_ms) return [];
  const until = Date.parse(last.at) + last.wait_ms;
  return until > Date.now() ? [`next attempt ${moment(until)}, after: ${printable(last.why)}`] : [];
}

function findStep({ steps }: RunSummary, id: string): StepRecord {
  const found = steps.find(({ step }) => step === id);
  if (found) return found;
  throw refusal(
    'missing',
    `step ${printable(id)} in this run`,
    `Its steps are: ${steps.map(({ step }) => step).join(', ')}.`,
  );
}

/** Reads the output of one attempt of a step, by default of the last attempt. */
async function outputOf(
  work: AgentWork,
  run: string,
  { step, ref, failures = [], attempts }: StepRecord,
  attempt?: number,
): Promise<{ attempt: number; why: string | null; text: string }> {
  const last = ref ? undefined : failures.at(-1);
  const failed = attempt === undefined ? last : failures.find((one) => one.attempt === attempt);
  const number = attempt ?? failed?.attempt ?? attempts;
  const stored = failed ? failed.output_ref : number === attempts ? ref : undefined;
  if (!failed && stored === undefined)
    throw refusal(
      'missing',
      `attempt ${number} of ${printable(step)}`,
      `The step had ${plural(attempts, 'attempt')}.`,
    );
  const why = failed?.why ?? null;
  if (stored === undefined) return { attempt: number, why, text: `It printed nothing. ${why ?? ''}` };
  const { body } = await work.threads.content(run, stored, { counted: false });
  return { attempt: number, why, text: await readText(body) };
}

/** Number of lines that `relay pipeline why` prints from the end of a failed output. */
const EXCERPT_LINES = 25;

const why = answerCommand({
  usage: 'RUN',
  details:
    'Prints the step that failed, the end of its output, and the command that runs it alone. For a run that waits, it prints what it waits for.',
  takes: { min: 1 },
  examples: 'relay pipeline why 550e8400  # explain why the run failed or what it waits for',
  async ask({ io, host, args }) {
    await using work = await host.agents.openWork(io.cwd);
    const run = await findThread(work.threads, args[0]!);
    const { summary } = await work.pipelines.show(run);
    const { steps, status, why = null } = summary;
    const waiting = steps.flatMap((step) => waitingText(step).map((text) => `${step.step} ${text}`));
    const failed = steps.find((step) => step.status === 'failed');
    if (!failed) return { run, status, why, step: null, waiting, excerpt: [], blocked: [], try: null };
    const { text } = await outputOf(work, run, failed);
    const excerpt = text.trimEnd().split('\n').slice(-EXCERPT_LINES);
    const blocked = steps.filter((step) => step.status === 'blocked').map(({ step }) => step);
    const id = stepOf(failed.step);
    const command = `relay pipeline run --of ${run} --from ${id} --only ${id}`;
    const { attempts } = failed;
    return {
      run,
      status,
      why: failed.why ?? why,
      step: failed.step,
      attempts,
      waiting,
      excerpt,
      blocked,
      try: command,
    };
  },
  print({ run, status, why, step, attempts = 0, waiting, excerpt, blocked, try: command }, { style, typed }) {
    const lines = [];
    if (step !== null) {
      lines.push(
        `${style.bold(step)} ${style.red('failed')} after ${plural(attempts, 'attempt')}: ${printable(why ?? '')}`,
      );
      lines.push('', ...excerpt.map((line) => `  ${line}`), '');
      if (blocked.length > 0) lines.push(`It blocks: ${blocked.join(', ')}.`);
      lines.push(
        `Try it alone: ${typed(command!)}`,
        `Continue the run: ${typed(`relay pipeline run --run ${run}`)}`,
      );
    } else lines.push(`The run is ${status}${why ? `: ${printable(why)}` : ''}. No step failed.`);
    return [...lines, ...waiting.map((text) => `Waiting: ${text}`)].join('\n');
  },
});

const cancel = defineCommand({
  usage: 'RUN',
  details:
    'The process that works on the run stops its steps. A cancelled run continues only with relay pipeline run --run ID.',
  flags: { reason: { value: 'TEXT', help: 'reason, shown with the run' } },
  takes: { min: 1 },
  examples: 'relay pipeline cancel 550e8400 --reason "wrong branch"  # stop a run',
  async run({ io, host, flags, args }) {
    await using work = await host.agents.openWork(io.cwd);
    const run = await findThread(work.threads, args[0]!);
    using stop = interruption(() => {});
    await work.pipelines.cancel(run, flags.reason ?? 'a person cancelled it', stop.signal);
    return io.result({ run, status: 'cancelled' }, `cancelled ${run}`);
  },
});

const serve = defineCommand({
  usage: 'FILE|FOLDER…',
  details: `Starts runs from the triggers of the files: messages of channels, schedules and webhooks. Several servers can serve the same
files: one of them watches at a time, and each message, scheduled time or webhook starts one run. A server also continues runs whose
server died. A webhook is a POST to /hooks/PATH, signed as in the Standard Webhooks specification.`,
  flags: {
    port: { value: 'N', help: 'port for webhooks (7476)' },
    host: { value: 'ADDRESS', help: 'address for webhooks (127.0.0.1)' },
  },
  takes: { min: 1, max: 100 },
  examples: `
    relay pipeline serve pipelines/  # watch the triggers of all files in a folder
    relay pipeline serve deploy.yaml --port 8080  # receive webhooks on this port`,
  async run({ io, host, flags, args }) {
    const port = parseCount(flags.port || undefined, '--port', { min: 0, max: 65_535 }) ?? 7476;
    const files: PipelineFile[] = [];
    for (const name of args) {
      if (/\.ya?ml$/.test(name)) files.push(await readPipelineFile(io, name));
      else files.push(...(await pipelineFiles(io, name)).values());
    }
    const { servePipelines } = await import('./pipeline-serve.ts');
    await servePipelines(io, host, files, { port, host: flags.host ?? '127.0.0.1' });
    return EXIT.ok;
  },
});

export const commands = { run, validate, graph, list, show, why, cancel, serve };
