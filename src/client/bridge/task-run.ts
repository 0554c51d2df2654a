import { isRelayError } from '../../base/errors.ts';
import { isJsonObject, type Json, jsonObjectIn } from '../../base/json.ts';
import { TASK_SUMMARY_CHARS, TASK_TIMEOUT_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import type { TaskMessage } from '../../contract/a2a.ts';
import { parsePointer } from '../../contract/pointer-url.ts';
import { resultKey } from '../../contract/tasks.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { canReconnect } from '../../sdk/http-client.ts';
import type { ResultWaiters } from '../../sdk/result-waiters.ts';
import { ignoreLostLease, type ReceivedMessage } from '../../sdk/subscription.ts';
import { ANSWER_TYPE, answerText, readAnswer } from './answer.ts';
import type { AgentBridgeOptions } from './options.ts';
import { firstLine, OUTCOME_INSTRUCTION, OUTCOME_REQUEST, readOutcome } from './outcome.ts';
import type { JobMessage, Ran, Runner, StuckReason } from './runner.ts';

/** Options of a running bridge. Unlike in `AgentBridgeOptions`, the fields below are required. */
export interface WorkerOptions extends AgentBridgeOptions {
  readonly taskChannel: string;
  readonly doneChannel: string;
  readonly name: string;
  readonly runner: Runner;
  readonly waiters: ResultWaiters;
  /**
   * Called with the reason when a task is stuck, and with null when the task continues. `asked` is missing
   * for encrypted tasks.
   */
  onStuck(id: string, reason: StuckReason | null): void;
}

/** Status with which a bridge reports the end of a task. */
type Status = 'done' | 'failed';

/** First pause in ms before a bridge tries again to deliver a result. Each further pause is twice as long. */
const FIRST_WAIT_MS = 500;
/** Longest pause in ms between two attempts to deliver a result. */
const LONGEST_WAIT_MS = 10_000;
/** Time in ms after which the relay has surely noticed that a bridge has closed its connection. */
export const LEAVE_MS = 200;

/**
 * Runs one task, from its message to its result. Returns the status of the result, or null if this bridge
 * delivers no result. If the agent fails, the result is a failure. If the relay fails, the returned promise
 * rejects, and the caller gives the task back to the group. `lost` fires when another bridge has taken the
 * task. `stopping` fires when this bridge stops.
 */
export async function runTask(
  client: ContextRelay,
  o: WorkerOptions,
  message: ReceivedMessage,
  lost: AbortSignal,
  stopping: AbortSignal,
): Promise<Status | null> {
  const { url, from, metadata } = message;
  // Drop a message that needs no run: a signal, or a task that already has a result. Such a task comes again if a
  // bridge finished it but acknowledged the message too late.
  if (!url) return drop(message, o, String(message.seq), 'it is a signal, not a task');
  const { id, key } = parsePointer(url);
  if (await hasResult(client, id)) return drop(message, o, id, 'it already has a result');
  o.onEvent?.({ type: 'task', id, from, attempt: message.attempt ?? 1 });
  const requested = metadata?.done_channel;
  const doneChannel = typeof requested === 'string' && requested !== '' ? requested : o.doneChannel;
  const encrypted = o.encrypted || (key !== null && (await client.hasChannelKey(doneChannel)));
  if (key !== null && !encrypted) o.onEvent?.({ type: 'trouble', what: notEncrypted(doneChannel) });
  const settledElsewhere = new AbortController();
  const canceled = new AbortController();
  const over = new AbortController();
  using listening = await o.waiters.listen(doneChannel);
  const otherResult = listening.wait(id, { signal: over.signal }).then((found) => {
    if (found?.status === 'canceled') canceled.abort(found.summary);
    else if (found) settledElsewhere.abort();
  });
  // Ignore errors of this wait, so that the task still runs. If there is already another result, the relay
  // rejects the second one.
  otherResult.catch(() => {});
  let ran: Ran;
  try {
    const task = { id, url, from, encrypted, message: metadata?.a2a };
    const signals = { lost, stopping, settled: settledElsewhere.signal, canceled: canceled.signal };
    ran = await runJob(client, o, task, signals);
  } finally {
    over.abort();
  }
  if (canceled.signal.aborted) return drop(message, o, id, String(canceled.signal.reason));
  if (lost.aborted) return reportDropped(o, id, 'its lease ended, and another bridge took the task');
  if (settledElsewhere.signal.aborted) return drop(message, o, id, 'the agent sent the result itself');
  if (stopping.aborted) {
    // Wait before giving the task back. If the relay has not yet noticed that this bridge left, it could give
    // the task to this bridge again.
    await pause(LEAVE_MS);
    await message.nack();
    return reportDropped(o, id, 'given back');
  }
  const overA2A = metadata?.a2a !== undefined;
  const delivered = await deliverResult(client, o, ran, { id, doneChannel, encrypted, overA2A, stopping });
  await message.ack().catch(ignoreLostLease);
  return delivered;
}

async function runJob(
  client: ContextRelay,
  o: WorkerOptions,
  task: { id: string; url: string; from: string; encrypted: boolean; message: Json | undefined },
  signals: { lost: AbortSignal; stopping: AbortSignal; settled: AbortSignal; canceled: AbortSignal },
): Promise<Ran> {
  const { id, url, from, encrypted } = task;
  if (o.from && !o.from.includes(from))
    return refused(`This agent does not accept tasks from ${JSON.stringify(from)}.`);
  let text: string;
  let message: JobMessage | undefined;
  try {
    text = await client.pull(await ownPointer(url, o.resolve));
    message = await messageOf(client, id, task.message);
  } catch (error) {
    // If the relay is unreachable, throw, so that the task is tried again later. Any other error means that
    // the payload stays unreadable, so the task fails.
    if (isRelayError(error, 'unreachable') || isRelayError(error, 'timeout')) throw error;
    return refused(`The task could not be read: ${errorText(error)}`);
  }
  const { timeout = TASK_TIMEOUT_MS, runner, command = 'relay' } = o;
  const late = AbortSignal.timeout(timeout);
  const signal = AbortSignal.any([late, signals.lost, signals.stopping, signals.canceled]);
  const pointer = o.pointer ?? !(runner.inline?.(text) ?? true);
  const whole = o.plain ? text : inlinePrompt(id, text);
  const prompt = pointer ? pointerPrompt(id, url, command, encrypted) : whole;
  try {
    // A question of the agent may quote the task. So if the task is encrypted, the question must not leave
    // this machine.
    const secret = encrypted || parsePointer(url).key !== null;
    const stuck = (reason: StuckReason | null) =>
      o.onStuck(id, reason && secret ? { why: reason.why } : reason);
    const job = { id, url, from, text, message, prompt, pointer, signal, settled: signals.settled, stuck };
    const ran = await runner.run(job);
    if (!late.aborted || signals.settled.aborted) return ran;
    return { ...ran, failed: tookTooLong(timeout) };
  } catch (error) {
    return refused(late.aborted ? tookTooLong(timeout) : errorText(error));
  }
}

/** Returns the A2A message from the task's metadata. Returns undefined if the task did not come over A2A. */
async function messageOf(client: ContextRelay, id: string, a2a: Json | undefined) {
  if (!isJsonObject(a2a)) return undefined;
  const { message_id, context_id, task_id = id, message, message_pointer } = a2a as Partial<TaskMessage>;
  if (!message_id || !context_id) return undefined;
  const json = message_pointer === undefined ? message : jsonObjectIn(await client.pull(message_pointer));
  return json ? { id: message_id, taskId: task_id, contextId: context_id, json } : undefined;
}

/**
 * Delivers a result. If the relay cannot be reached, retries until the bridge stops. Returns null if the task
 * already has another result.
 */
async function deliverResult(
  client: ContextRelay,
  o: WorkerOptions,
  ran: Ran,
  task: { id: string; doneChannel: string; encrypted: boolean; overA2A: boolean; stopping: AbortSignal },
): Promise<Status | null> {
  const { id, doneChannel, encrypted, stopping } = task;
  const asAnswer = task.overA2A && !encrypted;
  const { status, summary, text, outcome, contentType } = resultOf(ran, o.plain === true, asAnswer);
  // Metadata is not encrypted. So the metadata of an encrypted result must not contain anything that the agent
  // wrote.
  const details = encrypted ? {} : { summary: summary.slice(0, TASK_SUMMARY_CHARS), outcome };
  const about = { ...details, agent: o.name };
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      await pushResult(client, text, { id, status, doneChannel, encrypted, contentType, about });
      o.onEvent?.({ type: 'result', id, status, summary: encrypted ? '' : summary });
      return status;
    } catch (error) {
      if (isRelayError(error, 'idempotency_conflict')) return reportDropped(o, id, 'it already has a result');
      if (stopping.aborted || !canReconnect(error)) throw error;
      o.onEvent?.({ type: 'trouble', what: errorText(error) });
      await pause(wait, stopping);
    }
  }
}

/**
 * Pushes a result and returns its URL. A task has only one result: the relay rejects a second one with
 * `idempotency_conflict`.
 */
export function pushResult(
  client: ContextRelay,
  text: string | Uint8Array,
  o: {
    readonly id: string;
    readonly status: Status;
    readonly doneChannel: string;
    readonly encrypted: boolean;
    /** Media type of the result; plain text by default. */
    readonly contentType?: string;
    /** Metadata of the result. It is never encrypted. */
    readonly about: { readonly summary?: string; readonly outcome?: string; readonly agent?: string };
  },
): Promise<string> {
  return client.push(text, {
    channel: o.doneChannel,
    metadata: { task_id: o.id, status: o.status, ...o.about },
    contentType: o.contentType ?? PLAIN,
    encrypted: o.encrypted,
    idempotencyKey: resultKey(o.id),
  });
}

/**
 * Turns the output of a job into a result. With `asAnswer`, an A2A answer stays unchanged JSON. Otherwise it
 * becomes text. `outcome` says where the text comes from: an outcome block, an A2A answer, the whole output,
 * or nothing.
 */
function resultOf(ran: Ran, plain: boolean, asAnswer: boolean) {
  let { failed } = ran;
  try {
    const answer = readAnswer(ran.output);
    const ended = answer?.state === 'failed' || answer?.state === 'rejected';
    if (answer && (failed === undefined || ended)) {
      const text = answerText(answer);
      const summary = firstLine(text, TASK_SUMMARY_CHARS) || answer.state;
      const status = ended ? 'failed' : 'done';
      const content = asAnswer
        ? { text: ran.output, contentType: ANSWER_TYPE }
        : { text: text || summary, contentType: PLAIN };
      return { status, summary, outcome: 'answer', ...content } as const;
    }
  } catch (error) {
    failed ??= errorText(error);
  }
  if (ran.binary && failed === undefined) {
    const summary = `${ran.binary.byteLength} bytes of binary output`;
    const contentType = 'application/octet-stream';
    return { status: 'done', summary, text: ran.binary, outcome: 'whole', contentType } as const;
  }
  const outcome = plain
    ? { text: ran.output.trim(), found: false, completed: null }
    : readOutcome(ran.output);
  const details = outcome.text === '' ? '' : `\n\n${outcome.text}`;
  return {
    status: failed === undefined ? 'done' : 'failed',
    summary: failed ?? (firstLine(outcome.completed ?? outcome.text, TASK_SUMMARY_CHARS) || 'no output'),
    text: failed === undefined ? outcome.text || '(no output from the agent)' : `${failed}${details}`,
    outcome: outcome.found ? 'block' : outcome.text === '' ? 'none' : 'whole',
    contentType: PLAIN,
  } as const;
}

const PLAIN = 'text/plain; charset=utf-8';

async function hasResult(client: ContextRelay, id: string): Promise<boolean> {
  try {
    return (await client.tasks.get(id)).result !== null;
  } catch (error) {
    if (isRelayError(error, 'not_found')) return false;
    throw error;
  }
}

async function drop(message: ReceivedMessage, o: WorkerOptions, id: string, why: string): Promise<null> {
  await message.ack().catch(ignoreLostLease);
  return reportDropped(o, id, why);
}

function reportDropped(o: WorkerOptions, id: string, why: string): null {
  o.onEvent?.({ type: 'dropped', id, why });
  return null;
}

function refused(why: string): Ran {
  return { output: '', failed: why };
}

function notEncrypted(channel: string): string {
  return `The task is encrypted, but its result will not be, because this bridge has no key for the channel ${channel}.`;
}

function tookTooLong(timeout: number): string {
  return `The task took longer than ${timeout / 1000} s and was stopped.`;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Returns the text with which this client can pull a pointer. For an unencrypted pointer this is the id. For an
 * encrypted pointer it is the URL that `resolve` returns.
 */
export async function ownPointer(
  url: string,
  resolve: (url: string) => Promise<string> = async (same) => same,
): Promise<string> {
  const { id, key } = parsePointer(url);
  return key === null ? id : resolve(url);
}

/** Returns the last line of a prompt. A runner finds the prompt on a screen by the task's id in this line. */
const ending = (id: string) => `(relay task ${id})`;

/** Returns the text of the task, followed by the instruction for an outcome block. */
function inlinePrompt(id: string, text: string): string {
  return `${text}\n\n---\n${OUTCOME_INSTRUCTION}\n${ending(id)}`;
}

/**
 * Returns a prompt of one line, because terminals submit each line separately. The prompt asks the agent to
 * deliver the result with a command, so that the bridge need not read the screen. Agents that cannot run
 * commands print an outcome block.
 */
function pointerPrompt(id: string, url: string, command: string, encrypted: boolean): string {
  const done = `${command} task done ${encrypted ? '--encrypt ' : ''}${id}`;
  return (
    `You have a task. Read it with: ${command} pull "${url}" - then do it. ` +
    `When you have finished, run: ${done} "what you did, what is left, what to know" - ` +
    `or, if you cannot run commands, ${OUTCOME_REQUEST} ${ending(id)}`
  );
}
