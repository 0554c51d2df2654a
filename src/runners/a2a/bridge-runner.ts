import { RelayError } from '../../base/errors.ts';
import type { AgentOutcome, RemoteAgent } from '../../client/bridge/remote-agent.ts';
import type { Job, Ran, Runner } from '../../client/bridge/runner.ts';
import { connectAgent } from './runner.ts';

type Asked = Pick<Job, 'prompt' | 'signal'>;

/** An agent at an A2A address as a bridge sees it: each task is a message to it, and its artifacts are the output. */
export function a2aBridgeRunner(url: string): Runner & { run(job: Asked): Promise<Ran> } {
  let agent: Promise<RemoteAgent> | null = null;
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
    run: async (job) => perform(await connected(), job),
    close: async () => {},
  };
}

async function perform(agent: RemoteAgent, job: Asked): Promise<Ran> {
  let started: string | null = null;
  try {
    const onState = ({ task_id }: AgentOutcome) => {
      started = task_id;
    };
    const outcome = await agent.run({ text: job.prompt, signal: job.signal, onState });
    const output = await words(agent, outcome, job.signal);
    if (outcome.state === 'completed') return { output };
    return { output, failed: `The agent says ${outcome.state}${outcome.note ? `: ${outcome.note}` : '.'}` };
  } catch (error) {
    // It would go on with what nobody waits for any more.
    if (job.signal.aborted && started !== null) await agent.cancel(started).catch(() => {});
    throw error;
  }
}

async function words(
  agent: RemoteAgent,
  { parts, note }: AgentOutcome,
  signal: AbortSignal,
): Promise<string> {
  const texts = await Promise.all(
    parts.map(async (part) =>
      'text' in part ? part.text : new TextDecoder().decode(await agent.read(part, signal)),
    ),
  );
  return texts.join('\n').trim() || (note ?? '');
}
