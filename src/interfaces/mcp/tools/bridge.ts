import * as z from 'zod';
import { RelayError } from '../../../base/errors.ts';
import { a2a } from '../../../contract/a2a.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { type FoundResult, ResultWaiters } from '../../../sdk/result-waiters.ts';
import { pullWithinBudget } from '../budget.ts';
import { type Answer, defineTool, pointerLink, type ToolCall } from '../tool.ts';

/** Interval in ms between progress notifications. */
const PROGRESS_MS = 5_000;
/** Maximum timeout in seconds: one day. */
const MAX_TIMEOUT_S = 86_400;
const SUMMARY_CHARS = 80;

export const BRIDGE_TOOLS = [
  defineTool({
    name: 'bridge_task',
    description: 'Send a task to an agent (relay bridge) on a channel, wait, and return its result.',
    input: z.object({
      task: z.string().describe('everything the agent needs to know'),
      task_channel: z.string().default('agent-tasks'),
      done_channel: z.string().default('agent-done'),
      timeout: z.number().min(1).max(MAX_TIMEOUT_S).default(600).describe('seconds'),
    }),
    verb: a2a.send,
    doing: 'bridging the task',
    async run({ task, task_channel, done_channel, timeout }, call) {
      const { client, signal } = call;
      // Listen before the task is pushed. Otherwise a fast result could be missed.
      using listening = await new ResultWaiters(client).listen(done_channel);
      const metadata = { summary: task.slice(0, SUMMARY_CHARS), done_channel };
      const url = await client.push(task, { channel: task_channel, metadata, signal });
      const { id } = parsePointer(url);
      const stopProgress = reportProgress(url, task_channel, call);
      try {
        const timedOut = AbortSignal.timeout(timeout * 1000);
        const either = AbortSignal.any([signal, timedOut]);
        const found = await listening.wait(id, { signal: either, unmarked: true });
        if (found) return await answer(found, call);
        signal.throwIfAborted();
      } finally {
        stopProgress();
      }
      throw new RelayError('failed', {
        what: `No result within ${timeout} s.`,
        hint: `The task is ${url}. Its result will arrive on the channel ${done_channel}.`,
      });
    },
  }),
];

async function answer({ url, status }: FoundResult, call: ToolCall): Promise<Answer> {
  const pulled = await pullWithinBudget(await call.resolve(url), call);
  const links = [pointerLink(parsePointer(url).id, 'the result')];
  if (status !== 'failed') return { ...pulled, links };
  return { text: `The task failed: ${pulled.text}`, links, failed: true };
}

/**
 * Reports the receipt stage of the task periodically (stored, notified, pulled). Returns a function that
 * stops the reports.
 */
function reportProgress(url: string, channel: string, { client, progress }: ToolCall): () => void {
  let over = false;
  const tell = async () => {
    const { reached } = await client.receipts(url);
    if (!over) await progress(`${url} on ${channel}: ${reached}`);
  };
  // Ignore errors, because progress messages are optional.
  const quietly = () => void tell().catch(() => {});
  quietly();
  const timer = setInterval(quietly, PROGRESS_MS);
  return () => {
    over = true;
    clearInterval(timer);
  };
}
