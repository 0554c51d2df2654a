import * as z from 'zod';
import { isRelayError, RelayError } from '../../../base/errors.ts';
import { AgentBridge, announcedResult } from '../../../client/bridge/agent-bridge.ts';
import { a2a } from '../../../contract/a2a.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { DONE_CHANNEL, TASK_CHANNEL, tasks } from '../../../contract/tasks.ts';
import { type FoundResult, ResultWaiters } from '../../../sdk/result-waiters.ts';
import { pullWithinBudget } from '../budget.ts';
import { type Answer, defineTool, pointerLink, type ToolCall } from '../tool.ts';

/** Interval in ms between progress notifications. */
const PROGRESS_MS = 5_000;
/** Maximum timeout in seconds: one day. */
const MAX_TIMEOUT_S = 86_400;
/** Time in ms after which a call ends if no running bridge is known and nobody has taken the task. */
const TAKEN_MS = 10_000;

export const BRIDGE_TOOLS = [
  defineTool({
    name: 'bridge_task',
    description: 'Send a task to an agent (relay bridge), wait, and return its result.',
    input: z.object({
      task: z.string().describe('everything the agent needs to know'),
      to: z.string().optional().describe('name of the agent; omit for any'),
      task_channel: z.string().default(TASK_CHANNEL),
      done_channel: z.string().default(DONE_CHANNEL),
      timeout: z.number().min(1).max(MAX_TIMEOUT_S).default(600).describe('seconds'),
      wait: z.boolean().default(true).describe('false: return at once, then call task_result'),
    }),
    verb: a2a.send,
    doing: 'bridging the task',
    async run({ task, to, task_channel, done_channel, timeout, wait }, call) {
      const { client, signal, resolve } = call;
      // Listen before pushing the task, otherwise a fast result could be missed.
      using listening = wait ? await new ResultWaiters(client).listen(done_channel) : null;
      const bridge = new AgentBridge(client, {
        taskChannel: task_channel,
        doneChannel: done_channel,
        resolve,
      });
      const nobody = await nobodyListens(task_channel, to, call);
      const { id, url } = await bridge.send(task, { to, signal });
      if (listening === null) return { text: `Sent as ${id}. Call task_result later.${nobody}` };
      const stopProgress = reportProgress(url, bridge.channelFor(to), call);
      const untaken = nobody === '' ? null : signalIfUntaken(url, call);
      try {
        const signals = [signal, AbortSignal.timeout(timeout * 1000), ...(untaken ? [untaken.signal] : [])];
        const found = await listening.wait(id, { signal: AbortSignal.any(signals), unmarked: true });
        if (found) return await answer(id, found, call);
        signal.throwIfAborted();
      } finally {
        stopProgress();
        untaken?.stop();
      }
      throw new RelayError('failed', {
        what: untaken?.signal.aborted
          ? `Nobody has taken the task.${nobody}`
          : `No result within ${timeout} s.${nobody}`,
        hint: `The task stays queued as ${url}. Its result will arrive on the channel ${done_channel}: call task_result with task ${id}.`,
      });
    },
  }),
  defineTool({
    name: 'task_result',
    description: 'Get the result of a task, or its status.',
    input: z.object({ task: z.string().describe('id from bridge_task') }),
    verb: tasks.get,
    doing: 'reading the task',
    hints: { not_found: 'Pass the id that bridge_task returned.' },
    async run({ task }, call) {
      const { id } = parsePointer(task.trim());
      const { state, agent, stuck, result } = await call.relay.tasks.get(id);
      return result ? answer(id, result, call) : { text: JSON.stringify({ state, agent, stuck }) };
    },
  }),
];

async function answer(id: string, { url, status }: FoundResult, call: ToolCall): Promise<Answer> {
  const pull = async (pointer: string) => pullWithinBudget(await call.resolve(pointer), call, 'excerpt');
  const pulled = await pull(url).catch(async (error) => {
    if (!isRelayError(error, 'key_missing')) throw error;
    return pull(await announcedResult(call.client, id, parsePointer(url).id));
  });
  const links = [pointerLink(parsePointer(url).id, 'the result')];
  if (status === 'done') return { ...pulled, links };
  const how = status === 'canceled' ? 'was canceled' : 'failed';
  return { text: `The task ${how}: ${pulled.text}`, links, failed: true };
}

/** Returns a sentence if no running bridge can take the task, otherwise an empty text. */
async function nobodyListens(channel: string, to: string | undefined, { relay }: ToolCall): Promise<string> {
  // Older relays have no list of agents, and not every API key may read it.
  const listed = await relay.agents.list().catch(() => null);
  const takes = listed?.agents.some(
    ({ name, alive, bridge }) =>
      alive && bridge?.task_channel === channel && (to === undefined || name === to),
  );
  if (listed === null || takes) return '';
  const where = to === undefined ? `on ${channel}` : `as ${to} on ${channel}`;
  return ` No agent listens ${where}; a person can start one with: relay bridge start`;
}

/** Returns a signal that aborts after `TAKEN_MS` unless somebody was notified of the task or pulled it. */
function signalIfUntaken(url: string, { client }: ToolCall): { signal: AbortSignal; stop(): void } {
  const untaken = new AbortController();
  const timer = setTimeout(async () => {
    const found = await client.receipts(url).catch(() => null);
    if (found?.reached === 'stored') untaken.abort();
  }, TAKEN_MS);
  return { signal: untaken.signal, stop: () => clearTimeout(timer) };
}

/**
 * Reports the receipts of the task (stored, notified, pulled) periodically. Returns a function that stops the
 * reports.
 */
function reportProgress(url: string, channel: string, { client, progress }: ToolCall): () => void {
  let over = false;
  const tell = async () => {
    const { reached } = await client.receipts(url);
    if (!over) await progress(`${url} on ${channel}: ${reached}`);
  };
  // Ignore errors: progress messages are optional.
  const quietly = () => void tell().catch(() => {});
  quietly();
  const timer = setInterval(quietly, PROGRESS_MS);
  return () => {
    over = true;
    clearInterval(timer);
  };
}
