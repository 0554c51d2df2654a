import { PROMPT_PREVIEWS } from '../../base/limits.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { readText } from '../../base/utf8.ts';
import { AgentBridge } from '../../client/bridge/agent-bridge.ts';
import { type StepCall, StepFailure, type StepRunners } from '../../client/pipelines/step-runner.ts';
import type { Relay } from '../../contract/relay.ts';
import type { AgentWork, OpenClient } from '../../interfaces/cli/host.ts';
import { cliStep, shellStep } from '../../runners/cli/program-steps.ts';
import { artifactFrame, type FrameSecret } from '../../text/frame.ts';
import type { Environment } from '../config.ts';

export interface RunnerParts extends Pick<AgentWork, 'prompts' | 'model'> {
  readonly relay: Relay;
  readonly tokens: TokenCounter;
  readonly frameSecret: FrameSecret;
  /** A client of the relay; made once, when a step needs it. */
  open(): Promise<OpenClient>;
  readonly env: Environment;
  readonly cwd: string;
}

/** The step's own timeout ends it; this only keeps a wait from being endless by itself. */
const PATIENCE_MS = 24 * 60 * 60 * 1000;

/** Where the steps of a pipeline are done. */
export function stepRunners({
  prompts,
  tokens,
  relay,
  frameSecret,
  open,
  env,
  cwd,
  model: openModel,
}: RunnerParts): StepRunners {
  const previews = ({ context }: StepCall) =>
    Promise.all(context.map((artifact) => artifactFrame(artifact, frameSecret)));
  /** What an agent elsewhere is told: the words, and the previews of what it is shown. */
  const taskText = async (call: StepCall) => [call.prompt, ...(await previews(call))].join('\n\n');
  const priced = async ({ prompt, context }: StepCall, text: string) => {
    const [shown, words] = await Promise.all([tokens.count(text), tokens.count(prompt)]);
    const pasted = context.reduce((sum, artifact) => sum + artifact.tokens.content, words.tokens);
    return { tokens: shown, pasted: { ...words, tokens: pasted } };
  };
  /** A step is shown its context and no other artifacts. */
  const bundleOf = ({ run, prompt, context }: StepCall, system?: string) => {
    const refs = context.slice(0, PROMPT_PREVIEWS).map(({ ref }) => ref);
    return prompts.bundle({ thread_id: run, words: prompt, system, refs, previews: refs.length });
  };
  return {
    async provider(call, { signal, said }) {
      const { provider, model, base_url: baseUrl, max_tokens: maxTokens, system } = call.agent;
      const chosen = openModel({ provider, model, baseUrl, maxTokens });
      const bundle = await bundleOf(call, system);
      const only = call.context.map(({ ref }) => ref);
      let heard = '';
      const onText = (text: string) => {
        heard += text;
        said(text);
      };
      const o = { signal, onText, tools: only.length > 0, only };
      const { text, billed, cut, pulls } = await prompts.answer(bundle, chosen, o).catch((error: Error) => {
        throw heard === '' ? error : new StepFailure(error.message, heard);
      });
      return { content: text, by: chosen.name, billed, cut, pulls, prompt: bundle };
    },
    async cli(call, o) {
      const { cli, args, prompt_by: promptBy } = call.agent;
      const prompt = await bundleOf(call, call.agent.system);
      const text = `${prompt.system}\n\n${prompt.user}`;
      return { ...(await cliStep({ cli, args, promptBy }, call, text, { env, cwd, ...o })), prompt };
    },
    async shell(call, o) {
      const words = call.agent.command === null ? [] : [call.prompt];
      return shellStep(call, [...words, ...(await previews(call))].join('\n\n'), { env, cwd, ...o });
    },
    async capability(call) {
      const { capability } = call.agent;
      const { artifact_ref } = await relay.capabilities.invoke({
        capability,
        thread_id: call.run,
        args: call.args,
        idempotency_key: `capability:${call.key}`,
      });
      const { body } = await relay.threads.content(call.run, artifact_ref, { counted: false });
      return { content: await readText(body), by: capability, source_refs: [artifact_ref] };
    },
    /** Done by whichever agent serves the channel. After a crash the same task is asked for again, not a second one. */
    async bridge(call, { signal }) {
      const { channel, done_channel, to } = call.agent;
      const opened = await open();
      const { resolve } = opened;
      const client = await opened.client();
      const bridge = new AgentBridge(client, { taskChannel: channel, doneChannel: done_channel, resolve });
      const task = await taskText(call);
      const { id } = await bridge.send(task, {
        to,
        signal,
        summary: `${call.step} of run ${call.run}`,
        idempotencyKey: `step:${call.key}:${call.attempt}`,
      });
      const waiting = bridge.wait(id, { signal, timeout: PATIENCE_MS });
      const answer = await waiting.catch(async (error) => {
        // Nobody comes back for it, as somebody does for a run that was stopped.
        if (signal.reason?.name === 'TimeoutError')
          await client.tasks.cancel(id, { reason: `step ${call.step} took too long` }).catch(() => {});
        throw error;
      });
      if (answer.status !== 'done')
        throw new StepFailure(answer.summary ?? answer.text.slice(0, 300), answer.text);
      return { content: answer.text, by: to ?? channel, prompt: await priced(call, task) };
    },
    async a2a(call, { signal }) {
      const { url } = call.agent;
      const { a2aBridgeRunner } = await import('../../runners/a2a/bridge-runner.ts');
      const prompt = await taskText(call);
      const { output, failed } = await a2aBridgeRunner(url).run({ prompt, signal });
      if (failed !== undefined) throw new StepFailure(failed, output);
      return { content: output, by: url, prompt: await priced(call, prompt) };
    },
  };
}
