import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  type AgentOutcome,
  type AgentTask,
  partText,
  type RemoteAgent,
} from '../../client/bridge/remote-agent.ts';
import type { Job, JobMessage, Ran, Runner } from '../../client/bridge/runner.ts';
import { endWhenAborted } from '../leashed-shell.ts';
import { answerOf } from './outcome.ts';
import { connectAgent } from './runner.ts';

type Asked = Pick<Job, 'prompt' | 'signal' | 'message'>;

/** Conversations that a bridge remembers; one that it has forgotten is begun anew over there. */
const TALKS = 1_000;

/** What an A2A conversation of ours is called over there, and the task that waits for an answer there. */
type Talk = Pick<AgentTask, 'contextId' | 'taskId'>;

/**
 * An agent at an A2A address as a bridge sees it: each task is a message to it, and its artifacts are the output. What
 * came over A2A goes on as it is: with its parts, in one context over there for each context here, and so does the answer.
 */
export function a2aBridgeRunner(url: string): Runner & { run(job: Asked): Promise<Ran> } {
  let agent: Promise<RemoteAgent> | null = null;
  const talks = new Map<string, Talk>();
  const connected = (): Promise<RemoteAgent> => {
    agent ??= connectAgent(url).catch((error: Error) => {
      agent = null;
      throw new RelayError('agent_gone', { what: error.message }, error);
    });
    return agent;
  };
  return {
    kind: 'a2a',
    target: url,
    open: async () => void (await connected()),
    run: async (job) => perform(await connected(), job, talks),
    close: async () => {},
  };
}

async function perform(agent: RemoteAgent, job: Asked, talks: Map<string, Talk>): Promise<Ran> {
  const { message, prompt: text } = job;
  let started: string | null = null;
  const leaving = new AbortController();
  // What was sent is heard of once more, so that its id is known and it can be called off.
  using _ = endWhenAborted(job.signal, (force) => {
    if (started !== null || force) leaving.abort();
  });
  const { signal } = leaving;
  try {
    const onState = ({ task_id }: AgentOutcome) => {
      started = task_id;
      if (job.signal.aborted) leaving.abort();
    };
    if (message) {
      const { parts } = message.json as { parts: JsonObject[] };
      const outcome = await agent.run({ text, parts, ...talkOf(talks, message), signal, onState });
      noteTalk(talks, message, outcome);
      return { output: JSON.stringify(answerOf(outcome)) };
    }
    const outcome = await agent.run({ text, signal, onState });
    const output = await words(agent, outcome, signal);
    if (outcome.state === 'completed') return { output };
    return { output, failed: `The agent says ${outcome.state}${outcome.note ? `: ${outcome.note}` : '.'}` };
  } catch (error) {
    // It would go on with what nobody waits for any more.
    if (job.signal.aborted && started !== null) await agent.cancel(started).catch(() => {});
    throw error;
  }
}

function talkOf(talks: ReadonlyMap<string, Talk>, { contextId, taskId }: JobMessage): Talk {
  return talks.get(taskId) ?? talks.get(contextId) ?? {};
}

function noteTalk(talks: Map<string, Talk>, message: JobMessage, outcome: AgentOutcome): void {
  const contextId = outcome.context_id || undefined;
  const asks = outcome.state === 'input_required' || outcome.state === 'auth_required';
  talks.set(message.contextId, { contextId });
  talks.delete(message.taskId);
  if (asks) talks.set(message.taskId, { contextId, taskId: outcome.task_id ?? undefined });
  for (const key of talks.keys()) {
    if (talks.size <= TALKS) break;
    talks.delete(key);
  }
}

async function words(
  agent: RemoteAgent,
  { parts, note }: AgentOutcome,
  signal: AbortSignal,
): Promise<string> {
  const texts = await Promise.all(
    parts.map(async (part) =>
      'url' in part ? new TextDecoder().decode(await agent.read(part, signal)) : partText(part),
    ),
  );
  return texts.join('\n').trim() || (note ?? '');
}
