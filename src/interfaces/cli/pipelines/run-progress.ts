import type { Progress } from '../../../domain/pipelines/runner.ts';
import { printable } from '../human.ts';
import type { Io } from '../io.ts';
import { paint, seconds } from './run-table.ts';

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const REDRAW_MS = 100;
/** Rows of running steps at a terminal; the others are counted. */
const ROWS = 8;

/** Tells how a run goes, on stderr: lines where nobody looks, and below them what runs now where someone does. */
export class RunProgress implements Disposable {
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
    if (this.#drawn > 0) this.#io.stderr.write(`\u001b[${this.#drawn}A\u001b[J`);
    this.#drawn = 0;
  }
}
