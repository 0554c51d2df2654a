import { EXIT, RelayError } from '../../../base/errors.ts';
import { PIPELINE_PARALLEL_MAX } from '../../../base/limits.ts';
import type { PipelineFile } from '../../../client/pipelines/definition.ts';
import type { RunOptions, RunSummary } from '../../../client/pipelines/pipelines.ts';
import { readPipeline } from '../../../client/pipelines/read-pipeline.ts';
import type { Progress } from '../../../client/pipelines/step-runner.ts';
import { badUsage, defineCommand } from '../command.ts';
import type { AgentWork } from '../host-agents.ts';
import { parseCount, printable } from '../human.ts';
import { INTERRUPTED, type Io, interruption } from '../io.ts';
import { ESCAPE } from '../terminal-text.ts';
import { findThread } from '../threads/thread-choice.ts';
import { paint, seconds, tally } from './run-words.ts';
import { readPipelineFile } from './validate.ts';

export default defineCommand({
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
  examples: [
    ['relay pipeline run review.yaml --input branch=main', 'from the start'],
    ['relay pipeline run review.yaml --resume', 'go on after a crash, a failure or Ctrl-C'],
    ['relay pipeline run --run 550e8400', 'go on with this one, by the file it was started with'],
    [
      'relay pipeline run --of 550e8400 --from review',
      'do review again, and what comes after it, in a new run',
    ],
  ],
  async run({ io, host, flags, args }) {
    const file = args[0] === undefined ? null : await readPipelineFile(io, args[0]);
    if (!file && !flags.run && !flags.of)
      throw badUsage('relay pipeline run needs a file, or --run ID.', 'See relay pipeline run --help.');
    checkRerun(flags);
    const parallel = flags['max-parallel'] || undefined;
    const only = flags.only?.flatMap((ids) => ids.split(',')).filter((id) => id !== '');
    await using work = await host.openAgentWork(io.cwd);
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
  throw new RelayError('missing', {
    what: `run of ${name} that is not done`,
    hint: 'Leave --resume out to start one; relay pipeline list shows those there were.',
  });
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
