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
import { answerCommand, badUsage, defineCommand, refusal } from '../command.ts';
import type { AgentWork, Host } from '../host.ts';
import { moment, parseCount, plural, printable, rows, span } from '../human.ts';
import { ESCAPE, INTERRUPTED, type Io, interruption, type Style } from '../io.ts';
import { findThread } from './thread-choice.ts';

const run = defineCommand({
  usage: 'FILE | --run ID | --of RUN --from STEP',
  details: `A run is a thread. Steps begin as soon as what they need is there; a failing step stops only what depends on
it, and what needs a skipped step is skipped too unless its condition asks for steps.ID.status. After a crash or Ctrl-C, --resume goes on: what is recorded never runs again, and what was under way runs once more under
the same RELAY_STEP_KEY. Whoever runs it holds it: a second one is refused, or waits out the hold of one who is not heard of any
more. What the last steps said goes to stdout, everything else to stderr.`,
  flags: {
    input: { value: 'NAME=VALUE', multiple: true, short: 'i', help: 'a value for the pipeline' },
    'max-parallel': { value: 'N', help: 'so many steps at once' },
    resume: { help: 'go on with the newest run of this pipeline that is not done' },
    run: { value: 'ID', help: 'go on with this run' },
    of: { value: 'RUN', help: 'a new run with the results of this one, up to --from' },
    from: { value: 'STEP', help: 'with --of: do this step again, and all that depends on it' },
    'take-over': { help: 'go on with a run at once, though it is held elsewhere' },
    only: { value: 'STEP', multiple: true, help: 'only this step and what it needs' },
  },
  takes: { max: 1 },
  examples: `
    relay pipeline run review.yaml --input branch=main  # from the start
    relay pipeline run review.yaml --resume  # go on after a crash, a failure or Ctrl-C
    relay pipeline run --run 550e8400  # go on with this one, by the file it was started with
    relay pipeline run --of 550e8400 --from review  # do review again, and what comes after it, in a new run`,
  async run({ io, host, flags, args }) {
    const file = args[0] === undefined ? null : await readPipelineFile(io, args[0]);
    if (!file && !flags.run && !flags.of)
      throw badUsage('relay pipeline run needs a file, or --run ID.', 'See relay pipeline run --help.');
    checkRerun(flags);
    const parallel = flags['max-parallel'] || undefined;
    const only = flags.only?.flatMap((ids) => ids.split(',')).filter((id) => id !== '');
    await using work = await host.agents.openWork(io.cwd);
    using stop = interruption(() => io.note('stopping; once more to stop at once'));
    let progress: RunProgress | null = null;
    const o: RunOptions = {
      signal: stop.signal,
      maxParallel: parseCount(parallel, '--max-parallel', { min: 1, max: PIPELINE_PARALLEL_MAX }),
      only,
      takeOver: flags['take-over'],
      waiting: ({ holder, until }) => {
        const left = Math.max(1, Math.ceil((Date.parse(until) - Date.now()) / 1000));
        io.note(
          `held by ${printable(holder)}; unless heard of, it is free in ${left} s (at once with --take-over)`,
        );
      },
      begun: (run, pipeline) => {
        if (!io.json) io.note(`run ${run}`);
        progress = new RunProgress(io, only?.length ?? pipeline.steps.length);
      },
      progress: (told) => progress?.take(told),
    };
    let summary: RunSummary;
    try {
      if (flags.of !== undefined) {
        const of = await findThread(work.threads, flags.of);
        summary = await work.pipelines.rerun(of, flags.from!, file, o);
      } else {
        const run = await resumed(work, file, flags);
        summary =
          run === null
            ? await work.pipelines.start(file!, inputs(flags.input), o)
            : await work.pipelines.resume(run, file, o);
      }
    } finally {
      (progress as RunProgress | null)?.[Symbol.dispose]();
    }
    return await tell(io, work, summary);
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
      '--of names a run and --from the step to do again.',
      'For example: --of 550e8400 --from review',
    );
  if (flags.of === undefined) return;
  if (flags.run !== undefined || flags.resume)
    throw badUsage('--of begins a new run.', 'Leave --run and --resume out.');
  if (flags.input)
    throw badUsage('A run with the results of another has its inputs too.', 'Leave --input out.');
}

/** The run to go on with; null for a new one. */
async function resumed(
  work: AgentWork,
  file: PipelineFile | null,
  flags: { readonly run?: string; readonly resume?: boolean; readonly input?: string[] },
): Promise<string | null> {
  const going = flags.run !== undefined || flags.resume;
  if (flags.run !== undefined && flags.resume)
    throw badUsage(
      '--run names the run to go on with, and --resume looks for one.',
      `Leave one out: relay pipeline run --run ${flags.run}`,
    );
  if (going && flags.input)
    throw badUsage('A run keeps the inputs it began with.', 'Leave --input out, or start a new run.');
  if (flags.run !== undefined) return findThread(work.threads, flags.run);
  if (!flags.resume) return null;
  const name = readPipeline(file!.text, file!.name).pipeline?.name ?? file!.name;
  const runs = await work.pipelines.list({ limit: 20, pipeline: name });
  const open = runs.find(({ status }) => status !== 'done');
  if (open) return open.run;
  throw refusal(
    'missing',
    `run of ${name} that is not done`,
    'Leave --resume out to start one; relay pipeline list shows those there were.',
  );
}

function inputs(given: readonly string[] | undefined): { [name: string]: string } {
  return Object.fromEntries(
    (given ?? []).map((pair) => {
      const at = pair.indexOf('=');
      if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
      throw badUsage(`--input takes NAME=VALUE, not "${pair}".`, 'For example: --input topic=tea');
    }),
  );
}

async function tell(io: Io, work: AgentWork, summary: RunSummary): Promise<number> {
  const { run, status, results } = summary;
  if (io.json) io.result(summary, '');
  else {
    let last: number | undefined;
    for (const { ref } of results) {
      const { body } = await work.threads.content(run, ref, { counted: !io.interactive });
      // One output begins on a line of its own behind another.
      if (last !== undefined && last !== LINE_FEED) io.stdout.write('\n');
      for await (const chunk of body instanceof Uint8Array ? [body] : body) {
        await io.stdout.send(chunk);
        last = chunk.at(-1) ?? last;
      }
    }
    if (io.interactive && last !== undefined && last !== LINE_FEED) io.stdout.write('\n');
    io.note(`${tally(summary)} · run ${run}`);
  }
  if (status === 'done' || status === 'partial') return EXIT.ok;
  if (!io.json) io.note(`go on with: relay pipeline run --run ${run}`);
  return status === 'interrupted' ? INTERRUPTED : EXIT.failed;
}

const LINE_FEED = 0x0a;
const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const REDRAW_MS = 100;
/** Rows of running steps at a terminal; the others are counted. */
const ROWS = 8;

/** Tells how a run goes, on stderr: lines where nobody looks, and below them what runs now where someone does. */
class RunProgress implements Disposable {
  readonly #io: Io;
  readonly #total: number;
  readonly #running = new Map<string, { since: number; said: string; attempt: number }>();
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

  take(progress: Progress): void {
    const { step, status, attempt = 1, text } = progress;
    if (status === 'said') {
      const row = this.#running.get(step);
      const line = text?.trim().split('\n').at(-1)?.trim();
      if (row && line) row.said = line;
      return;
    }
    if (status === 'running') {
      this.#running.set(step, { since: performance.now(), said: '', attempt });
      if (!this.#timer && !this.#io.json && attempt === 1) this.#line(`${step} running`);
      return;
    }
    if (status !== 'retrying') {
      this.#running.delete(step);
      this.#ended++;
    }
    if (this.#io.json) return;
    this.#erase();
    this.#line(this.#told(progress));
  }

  [Symbol.dispose](): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#erase();
  }

  #told({ step, status, duration_ms, ref, cached, known, why, attempt }: Progress): string {
    const style = this.#io.errorStyle;
    if (status === 'retrying')
      return `${step} ${style.yellow('again')} in ${seconds(duration_ms ?? 0)}: ${printable(why ?? '')}`;
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
    const rows = [...this.#running].slice(0, ROWS).map(([step, { since, said }]) => {
      const head = `${frame} ${step} ${seconds(now - since)}`;
      const room = stderr.columns - head.length - 3;
      return `${head} ${room > 10 ? style.dim(printable(said).slice(0, room)) : ''}`;
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
  details:
    'Ends with 2 where something is wrong. What is merely odd, such as an input that is never used, is a warning.',
  takes: { min: 1 },
  examples: 'relay pipeline validate review.yaml  # file:line: what is wrong',
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
  usage: 'FILE | --run ID',
  flags: {
    run: { value: 'ID', help: 'draw this run, with what became of each step' },
    mermaid: { help: 'for documents; this is also what comes out of a pipe' },
    text: { help: 'for a terminal' },
  },
  takes: { max: 1 },
  examples: `
    relay pipeline graph review.yaml  # in rounds, at the terminal
    relay pipeline graph review.yaml --mermaid  # as Mermaid
    relay pipeline graph --run 550e8400  # a run`,
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

/** A step of many has the worst of their statuses. */
function statuses({ steps }: RunSummary): (step: string) => string | undefined {
  const found = new Map<string, string>();
  const worst = ['failed', 'blocked', 'running', 'pending', 'skipped', 'done'];
  for (const { step, status } of steps) {
    const id = stepOf(step);
    const known = found.get(id);
    if (known === undefined || worst.indexOf(status) < worst.indexOf(known)) found.set(id, status);
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
  flags: { limit: { value: 'N', help: 'so many of the newest (20)' } },
  examples: `
    relay pipeline list  # the newest first
    relay pipeline list review  # only those of one pipeline`,
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
    return lines.join('\n') || 'There were none yet.';
  },
});

const show = answerCommand({
  usage: 'RUN',
  takes: { min: 1 },
  examples: 'relay pipeline show 550e8400  # each step, with the ref of its result',
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

/** What became of each step, one line each. */
function stepTable({ steps }: RunSummary, style: Style): string {
  const width = Math.max(4, ...steps.map(({ step }) => step.length)) + 2;
  return steps
    .map(({ step, status, ref, why, duration_ms, attempts, cached, attempt_refs }) => {
      const notes = [
        ...(cached ? ['from the cache'] : duration_ms !== undefined ? [seconds(duration_ms)] : []),
        ...(attempts > 1 ? [`${attempts} attempts`] : []),
        ...(why ? [why] : []),
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

/** `3 done, 1 failed, 2 blocked` */
export function tally(summary: Pick<RunSummary, 'steps'>): string {
  const groups = Map.groupBy(summary.steps, ({ status }) => status);
  return [...groups].map(([status, { length }]) => `${length} ${status}`).join(', ') || plural(0, 'step');
}

export function seconds(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : span(ms);
}

/** The two commands that a task may be, word for word as the dashboard offers them. */
const ORDER = /^relay pipeline run (?:--run ([0-9a-f-]{36})|--of ([0-9a-f-]{36}) --from ([\w.-]+))\s*$/;

/**
 * Goes on with runs of pipelines and does steps of them again. What is run comes from the files of the folder and never from
 * the run, which whoever may write threads could have made up.
 */
export function pipelineRunner(io: Io, host: Host, folder: string): Runner {
  return {
    kind: PIPELINE_RUNNER,
    target: folder,
    async open() {
      await filesIn(io, folder);
    },
    async run({ text, signal }): Promise<Ran> {
      const [, resumed, of, from] = ORDER.exec(text.trim()) ?? [];
      const run = resumed ?? of;
      if (run === undefined)
        return {
          output: '',
          failed: 'This bridge takes nothing but relay pipeline run --run, and --of with --from.',
        };
      await using work = await host.agents.openWork(io.cwd);
      try {
        const { pipeline } = await work.threads.run(run);
        const file = (await filesIn(io, folder)).get(pipeline);
        if (!file)
          return { output: '', failed: `There is no file of the pipeline ${pipeline} in ${folder}.` };
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

/** By the name of the pipeline. Files that are no pipelines are left alone. */
async function filesIn(io: Io, folder: string): Promise<Map<string, PipelineFile>> {
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
