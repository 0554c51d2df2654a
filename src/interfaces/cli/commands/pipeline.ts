import { readdir, readFile } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { EXIT, isRelayError, RelayError } from '../../../base/errors.ts';
import { PIPELINE_PARALLEL_MAX } from '../../../base/limits.ts';
import type { Ran, Runner } from '../../../client/bridge/runner.ts';
import type { Pipeline, PipelineFile } from '../../../client/pipelines/definition.ts';
import { mermaid, rounds } from '../../../client/pipelines/graph.ts';
import { type RunOptions, type RunSummary, stepOf } from '../../../client/pipelines/pipelines.ts';
import { readPipeline, soundPipeline } from '../../../client/pipelines/read-pipeline.ts';
import type { Progress } from '../../../client/pipelines/step-runner.ts';
import { PIPELINE_RUNNER } from '../../../contract/tasks.ts';
import { promptWarnings } from '../../../contract/threads.ts';
import { answerCommand, badUsage, defineCommand, refusal } from '../command.ts';
import type { AgentWork, Host } from '../host.ts';
import { moment, parseCount, plural, printable, rows, span } from '../human.ts';
import { ESCAPE, INTERRUPTED, type Io, interruption, type Style } from '../io.ts';
import { findThread } from './thread-choice.ts';

const run = defineCommand({
  usage: 'FILE | --run ID | --of RUN --from STEP',
  details: `Each run is stored as a thread. A step starts when the steps it needs are done. A failed step stops only the steps that
depend on it. A step that needs a skipped step is skipped too. Neither happens if the condition of
the dependent step asks for the status of the step it needs (steps.ID.status). After a failure, a crash or Ctrl-C, --resume continues the run: finished steps are not
repeated, failed and interrupted steps run again with the same RELAY_STEP_KEY. Only one process works on a run at a time. If
that process is alive, the command fails. If relay cannot tell, the command waits until the lease ends; --take-over does not
wait. The output of the last steps goes to standard output, everything else to standard error.

A step whose prompt showed only a part of its context, or whose model gave an empty, refused or cut answer, gets a warning
at the end. The exit code is 6 if the run is done and an answer is incomplete.`,
  flags: {
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
  },
  takes: { max: 1 },
  examples: `
    relay pipeline run review.yaml --input branch=main  # start a run
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
          `Another process runs it: ${printable(holder)}. Its lease ends in ${left} s if it has died. Use --take-over to continue at once.`,
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

function checkRerun(flags: {
  readonly of?: string;
  readonly from?: string;
  readonly run?: string;
  readonly resume?: boolean;
  readonly input?: string[];
}): void {
  if ((flags.of === undefined) !== (flags.from === undefined))
    throw badUsage(
      '--of RUN and --from STEP must be used together.',
      'For example: --of 550e8400 --from review',
    );
  if (flags.of === undefined) return;
  if (flags.run !== undefined || flags.resume)
    throw badUsage('--of starts a new run and cannot be combined with --run or --resume.', 'Use --of alone.');
  if (flags.input) throw badUsage('--of reuses the inputs of the earlier run.', 'Omit --input.');
}

/** Returns the id of the run to resume, or null if a new run is to be started. */
async function runToResume(
  work: AgentWork,
  file: PipelineFile | null,
  flags: { readonly run?: string; readonly resume?: boolean; readonly input?: string[] },
): Promise<string | null> {
  const isResume = flags.run !== undefined || flags.resume;
  if (flags.run !== undefined && flags.resume)
    throw badUsage(
      '--run and --resume cannot be used together.',
      `Use one of them: relay pipeline run --run ${flags.run}`,
    );
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

function inputs(given: readonly string[] | undefined): { [name: string]: string } {
  return Object.fromEntries(
    (given ?? []).map((pair) => {
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

/** Maximum number of steps whose warnings are printed after a run. */
const WARNED_STEPS = 10;

function stepWarnings({ run, steps }: RunSummary): string[] {
  const warnings = steps.flatMap((step) => promptWarnings(step.step, step));
  const more = warnings.length - WARNED_STEPS;
  return [
    ...warnings.slice(0, WARNED_STEPS).map(printable),
    ...(more > 0 ? [`${plural(more, 'more warning')}: relay pipeline show ${run}`] : []),
  ];
}

const LINE_FEED = 0x0a;
const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const REDRAW_MS = 100;
/** Maximum number of running steps that are listed at a terminal. Further steps are only counted. */
const ROWS = 8;

/**
 * Shows the progress of a run on stderr, with one line per event. At a terminal, it also shows a live list of
 * the running steps below.
 */
class RunProgress implements Disposable {
  readonly #io: Io;
  readonly #total: number;
  readonly #running = new Map<string, { since: number; lastLine: string; attempt: number }>();
  readonly #timer: NodeJS.Timeout | null;
  #ended = 0;
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
    if (status !== 'retrying') {
      this.#running.delete(step);
      this.#ended++;
    }
    if (this.#io.json) return;
    this.#erase();
    this.#line(this.#format(progress));
  }

  [Symbol.dispose](): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#erase();
  }

  #format({ step, status, duration_ms, ref, cached, known, why, attempt }: Progress): string {
    const style = this.#io.errorStyle;
    if (status === 'retrying')
      return `${step} ${style.yellow('retry')} in ${seconds(duration_ms ?? 0)}: ${printable(why ?? '')}`;
    const notes = [
      ...(known ? ['recorded before'] : cached ? ['from the cache'] : []),
      ...(!known && !cached && duration_ms !== undefined ? [seconds(duration_ms)] : []),
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
    rows.push(style.dim(`${this.#ended} of ${this.#total} done${more > 0 ? `, ${more} more running` : ''}`));
    stderr.write(`${rows.join('\n')}\n`);
    this.#drawn = rows.length;
  }

  #erase(): void {
    if (this.#drawn > 0) this.#io.stderr.write(`${ESCAPE}[${this.#drawn}A${ESCAPE}[J`);
    this.#drawn = 0;
  }
}

const validate = defineCommand({
  usage: 'FILE',
  details: 'The exit code is 2 if there is an error. An unused input, for example, is only a warning.',
  takes: { min: 1 },
  examples: 'relay pipeline validate review.yaml  # print errors as file:line: message',
  async run({ io, args }) {
    const file = await readPipelineFile(io, args[0]!);
    const { pipeline, problems } = readPipeline(file.text, file.name);
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

/** Reads the pipeline file that the command line names. */
async function readPipelineFile(io: Io, name: string): Promise<PipelineFile> {
  try {
    const text = await readFile(resolve(io.cwd, name), 'utf8');
    return { text, file: name, name: basename(name, extname(name)) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new RelayError('missing', { what: `file ${name}` });
    throw new RelayError('failed', { what: `${name} cannot be read (${code}).` });
  }
}

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
      const shown = await work.pipelines.show(await findThread(work.threads, flags.run));
      pipeline = shown.pipeline;
      statusOf = statuses(shown.summary);
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
 * Returns a function that returns the status of a step. A step with several items has the worst status of its
 * items.
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
  takes: { min: 1 },
  examples: 'relay pipeline show 550e8400  # show each step with the ref of its result',
  async ask({ io, host, args }) {
    await using work = await host.agents.openWork(io.cwd);
    const { summary } = await work.pipelines.show(await findThread(work.threads, args[0]!));
    return summary;
  },
  print(summary, { style }) {
    const { run, pipeline, status, started_at, inputs } = summary;
    const facts = rows(style.dim, [
      ['run', run],
      ['pipeline', pipeline],
      ['status', status],
      ['started', moment(started_at)],
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

/** Matches the two commands that a task may contain. The dashboard sends them in exactly this form. */
const ORDER = /^relay pipeline run (?:--run ([0-9a-f-]{36})|--of ([0-9a-f-]{36}) --from ([\w.-]+))\s*$/;

/**
 * Creates a runner that resumes pipeline runs and repeats steps. It reads the pipeline only from the files in
 * the folder, never from the run. Anyone who may write threads could have forged the run.
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

/** Returns the pipeline files of a folder by pipeline name. It ignores YAML files that are not pipelines. */
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

export const commands = { run, validate, graph, list, show };
