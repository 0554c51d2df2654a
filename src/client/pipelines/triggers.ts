import { isRelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { isJsonObject, type Json, type JsonObject, jsonEqual } from '../../base/json.ts';
import { PIPELINE_MISSED_RUNS } from '../../base/limits.ts';
import type { Message } from '../../contract/channels.ts';
import type { Relay } from '../../contract/relay.ts';
import { nextTime } from './cron.ts';
import type { Pipeline, PipelineFile, Trigger } from './definition.ts';
import { asText, fillTemplate } from './expression.ts';
import type { Pipelines, RunOptions, RunSummary } from './pipelines.ts';
import { soundPipeline } from './read-pipeline.ts';
import { within } from './scope.ts';

export interface ServeOptions {
  readonly signal: AbortSignal;
  readonly pipelines: Pipelines;
  readonly relay: Pick<Relay, 'channels' | 'threads'>;
  now(): number;
  pause(ms: number, signal: AbortSignal): Promise<void>;
  /** Writes one line about an event. */
  log(line: string): void;
}

/** Interval in ms at which a server looks for runs that no process works on. */
const RECOVER_MS = 5_000;
/** A scheduled time counts as missed if it passed more than this many ms ago. */
const LATE_MS = 60_000;
/**
 * Maximum wait in ms before the schedule is checked again. It is short, because somebody may change the
 * machine's clock meanwhile.
 */
const WAIT_MS = 30_000;
/** Pause in ms after an error of the store. */
const RETRY_MS = 2_000;

/**
 * Starts runs of one pipeline when its triggers fire. The server that holds the lease of the pipeline watches
 * channels and schedules, and resumes runs whose server died. Each message, scheduled time or webhook call has a
 * key. A key starts only one run, even if several servers see the event.
 */
export class TriggerServer {
  readonly file: PipelineFile;
  readonly pipeline: Pipeline;
  readonly #o: ServeOptions;
  /** Runs that this process works on. */
  readonly #active = new Set<string>();
  readonly #working = new Set<Promise<unknown>>();

  constructor(file: PipelineFile, o: ServeOptions) {
    this.file = file;
    this.pipeline = soundPipeline(file);
    this.#o = o;
  }

  /** Serves until the signal aborts, then waits until the runs have stopped. */
  async serve(): Promise<void> {
    const { signal, pipelines, log, pause } = this.#o;
    const { name } = this.pipeline;
    while (!signal.aborted) {
      try {
        await using lease = await pipelines.hold(`serve ${name}`, { signal });
        if (signal.aborted) break;
        log(`${name}: this server watches its triggers`);
        const stop = AbortSignal.any([signal, lease.lost]);
        const failed = new AbortController();
        const watching = this.#watchers(lease.thread, AbortSignal.any([stop, failed.signal]));
        // If one watcher fails, stop the others. The outer loop then starts all of them again.
        for (const one of watching) one.catch(() => failed.abort());
        await Promise.all(watching);
      } catch (error) {
        if (signal.aborted) break;
        log(`${name}: ${(error as Error).message}`);
        await pause(RETRY_MS, signal);
      }
    }
    await Promise.allSettled(this.#working);
  }

  /**
   * Starts the run with this key, or resumes it if it is unfinished. Resolves with the id of the run when its
   * start is durable. Resolves with null if the run has ended or another process works on it.
   */
  async fire(key: string, data: JsonObject, trigger: Trigger): Promise<string | null> {
    const inputs = Object.fromEntries(
      Object.entries(trigger.inputs).map(([name, text]) => [
        name,
        fillTemplate(text, (path) => asText(within({ trigger: data }, path))),
      ]),
    );
    const { pipelines } = this.#o;
    const { name } = this.pipeline;
    return this.#work((o) =>
      pipelines.startOnce(`trigger:${name}:${key}`, this.file, inputs, { ...o, trigger: data }),
    );
  }

  #watchers(cursors: string, signal: AbortSignal): Promise<void>[] {
    const watchers = this.pipeline.triggers.map((trigger) => {
      if (trigger.on === 'channel') return this.#watchChannel(trigger, signal);
      return trigger.on === 'schedule' ? this.#watchClock(trigger, cursors, signal) : untilAborted(signal);
    });
    return [...watchers, this.#recover(signal), untilAborted(signal)];
  }

  /**
   * Starts runs for messages of a channel. It reads the channel as a group. So if this server dies before the
   * run is stored, the relay delivers the message again.
   */
  async #watchChannel(trigger: Extract<Trigger, { on: 'channel' }>, signal: AbortSignal): Promise<void> {
    const { channels } = this.#o.relay;
    const { channel, filter } = trigger;
    const group = `pipeline-${this.pipeline.name}`.replace(/[^\w-]/g, '-').slice(0, 60);
    for await (const message of channels.subscribe(channel, { group, signal })) {
      const { seq, token, from, url, msg, metadata, ts } = message;
      if (matches(message, filter)) {
        const data = { channel, seq, from, at: new Date(ts).toISOString(), url, msg, metadata };
        await this.fire(`${channel}:${seq}`, JSON.parse(JSON.stringify(data)) as JsonObject, trigger);
      }
      await channels.ack(channel, group, { seq, token: token! }).catch((error: unknown) => {
        // Ignore a conflict: the lease on the message has expired, and another server has got the message
        // too. Both servers used the same key, so there is only one run.
        if (!isRelayError(error, 'conflict')) throw error;
      });
    }
  }

  /**
   * Starts runs at the times of a schedule. The last time is stored in the thread of the lease, so that the
   * next holder of the lease continues after it.
   */
  async #watchClock(trigger: Extract<Trigger, { on: 'schedule' }>, thread: string, signal: AbortSignal) {
    const { now, pause, relay } = this.#o;
    const { cron, timezone, missed } = trigger;
    const key = `${cron} ${timezone}`;
    const readFacts = async () => {
      const { facts } = await relay.threads.state(thread, { counted: false });
      return facts as unknown as { key: string; value: Json }[];
    };
    const storeLast = async (at: number) => {
      const index = (await readFacts()).findIndex((fact) => fact.key === key);
      const value = new Date(at).toISOString();
      const fact = { id: `f${(await sha256Hex(key)).slice(0, 16)}`, key, value };
      const replace = { op: 'replace', path: `/facts/${index}/value`, value } as const;
      const ops = [index < 0 ? ({ op: 'add', path: '/facts/-', value: fact } as const) : replace];
      await relay.threads.patch(thread, { ops });
    };
    const stored = (await readFacts()).find((fact) => fact.key === key);
    let last = stored ? Date.parse(String(stored.value)) : now();
    if (!stored) await storeLast(last);
    while (!signal.aborted) {
      const times = [nextTime(cron, timezone, last)];
      while (times.at(-1)! <= now() && times.length < PIPELINE_MISSED_RUNS)
        times.push(nextTime(cron, timezone, times.at(-1)!));
      const due = times.filter((time) => time <= now());
      if (due.length === 0) {
        await pause(Math.min(times[0]! - now(), WAIT_MS), signal);
        continue;
      }
      if (missed === 'last' && due.length === times.length) {
        // `times` is full, so there may be further missed times. Only the last missed time starts a run, so skip
        // all of `times` but the last one.
        last = due.at(-2)!;
        continue;
      }
      const late = due.filter((time) => now() - time > LATE_MS);
      const caughtUp =
        missed === 'all' ? late : missed === 'last' && late.length === due.length ? late.slice(-1) : [];
      for (const time of [...caughtUp, ...due.slice(late.length)]) {
        const at = new Date(time).toISOString();
        await this.fire(`${key}:${at}`, { schedule: cron, timezone, at }, trigger);
      }
      last = due.at(-1)!;
      await storeLast(last);
    }
  }

  /** Resumes runs that a trigger started and that no process works on. */
  async #recover(signal: AbortSignal): Promise<void> {
    const { pipelines, relay, pause } = this.#o;
    while (!signal.aborted) {
      const { runs } = await relay.threads.runs({ pipeline: this.pipeline.name, limit: 100 });
      for (const { run, status } of runs.toReversed()) {
        if ((status !== 'running' && status !== 'interrupted') || this.#active.has(run)) continue;
        // Skip a run that cannot be read. Anyone with access to threads can write such a run, and it must
        // not stop the server.
        const found = await pipelines.show(run).catch(() => null);
        if (found?.summary.trigger === undefined || this.#active.has(run)) continue;
        await this.#work((o) => pipelines.resume(run, this.file, o), run);
      }
      await pause(RECOVER_MS, signal);
    }
  }

  /**
   * Works on a run in the background. Resolves with the id of the run when it has begun. Resolves with null
   * if it will not begin.
   */
  #work(begin: (o: RunOptions) => Promise<RunSummary | null>, resumed?: string): Promise<string | null> {
    const { log, signal } = this.#o;
    const { name } = this.pipeline;
    return new Promise((resolve, reject) => {
      let run = resumed;
      if (run !== undefined) this.#active.add(run);
      const onStart = (id: string) => {
        run = id;
        this.#active.add(id);
        log(`${name}: run ${id}`);
        resolve(id);
      };
      // The run has its own lease. So the run goes on even if this server loses the lease of the pipeline.
      const working = begin({ signal, onStart })
        .then(
          (ran) => {
            if (ran) log(`${name}: run ${ran.run} is ${ran.status}`);
            resolve(ran?.run ?? null);
          },
          (error: unknown) => {
            if (!isRelayError(error, 'run_held') && !signal.aborted)
              log(`${name}: ${(error as Error).message}`);
            // If a new run was not stored, reject, so that the caller tries again. If it was stored, it will
            // be resumed later, so the caller need not do anything.
            if (resumed === undefined && run === undefined) reject(error);
            else resolve(run ?? null);
          },
        )
        .finally(() => {
          if (run !== undefined) this.#active.delete(run);
          this.#working.delete(working);
        });
      this.#working.add(working);
      // A resumed run may first have to wait for its lease. So do not wait until the run begins.
      if (resumed !== undefined) resolve(resumed);
    });
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Returns whether a message has all values of the filter, in its metadata or in its signal (`msg`). */
function matches({ metadata, msg }: Message, filter: JsonObject): boolean {
  const fields = { ...(isJsonObject(msg) ? msg : {}), ...metadata };
  return Object.entries(filter).every(([name, value]) => jsonEqual(fields[name] ?? null, value));
}
