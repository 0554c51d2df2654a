import { AgentBridge } from '../../client/bridge/agent-bridge.ts';
import type { StepCall, StepRunner } from '../../client/pipelines/runner.ts';
import { previewFrame } from '../../client/prompts/bundle.ts';
import type { OpenClient } from '../../interfaces/cli/host.ts';
import { a2aBridgeRunner } from './a2a-bridge-runner.ts';

/** The step's own timeout ends it; this only keeps a wait from being endless by itself. */
const PATIENCE_MS = 24 * 60 * 60 * 1000;

/** A step done by whichever agent serves the channel. After a crash the same task is asked for again, not a second one. */
export function bridgeStep(open: () => Promise<OpenClient>): StepRunner {
  return async (call, { signal }) => {
    if (call.agent.kind !== 'bridge') throw new Error('not a bridge');
    const { channel, done_channel, to } = call.agent;
    const { client, resolve } = await open();
    const bridge = new AgentBridge(client, { taskChannel: channel, doneChannel: done_channel, resolve });
    const { url } = await bridge.send(taskText(call), {
      to,
      signal,
      summary: `${call.step} of run ${call.run}`,
      idempotencyKey: `step:${call.key}:${call.attempt}`,
    });
    const answer = await bridge.wait(url, { signal, timeout: PATIENCE_MS });
    if (answer.status !== 'done') throw new Error(answer.summary ?? answer.text.slice(0, 300));
    return { content: answer.text, by: to ?? channel };
  };
}

/** A step done by an agent at an A2A address. */
export const a2aStep: StepRunner = async (call, { signal }) => {
  if (call.agent.kind !== 'a2a') throw new Error('not an A2A agent');
  const text = taskText(call);
  const { output, failed } = await a2aBridgeRunner(call.agent.url).run({
    id: call.key,
    url: '',
    from: 'pipeline',
    text,
    prompt: text,
    pointer: false,
    signal,
    settled: new AbortController().signal,
  });
  if (failed !== undefined) throw new Error(failed);
  return { content: output, by: call.agent.url };
};

/** What an agent elsewhere is told: the words, and the previews of what it is shown. */
function taskText({ prompt, context }: StepCall): string {
  return [prompt, ...context.map(previewFrame)].join('\n\n');
}
