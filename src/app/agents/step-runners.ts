import { RelayError } from '../../base/errors.ts';
import { readText } from '../../base/read-text.ts';
import type { StepCall, StepRunner, StepRunners } from '../../client/pipelines/runner.ts';
import { previewFrame } from '../../client/prompts/bundle.ts';
import type { Prompts } from '../../client/prompts/prompts.ts';
import type { Bundle } from '../../client/prompts/types.ts';
import type { Relay } from '../../contract/relay.ts';
import type { OpenClient } from '../../interfaces/cli/host.ts';
import type { AgentWork } from '../../interfaces/cli/host-agents.ts';
import { cliStep, shellStep } from '../../runners/cli/program-steps.ts';
import type { Environment } from '../config.ts';

export interface RunnerParts {
  readonly prompts: Prompts;
  readonly relay: Relay;
  /** A client of the relay; made once, when a step needs it. */
  open(): Promise<OpenClient>;
  readonly env: Environment;
  readonly cwd: string;
  readonly model: AgentWork['model'];
}

/** Where the steps of a pipeline are done. */
export function stepRunners(parts: RunnerParts): StepRunners {
  const { env, cwd } = parts;
  const provider: StepRunner = async (call, { signal, said }) => {
    const agent = only(call, 'provider');
    const { provider, model, base_url: baseUrl, max_tokens: maxTokens } = agent;
    const chosen = parts.model({ provider, model, baseUrl, maxTokens });
    const bundle = await bundleOf(parts, call, agent.system);
    const answer = await chosen.answer(bundle, { signal, onText: said });
    const { text, billed, cut } = answer;
    return { content: text, by: chosen.name, billed, cut };
  };
  const cli: StepRunner = async (call, o) => {
    const { cli: name, args, prompt_by: promptBy, system } = only(call, 'cli');
    const bundle = await bundleOf(parts, call, system);
    return cliStep({ cli: name, args, promptBy }, call, wholeText(bundle), { env, cwd, ...o });
  };
  const shell: StepRunner = async (call, o) => {
    const { command } = only(call, 'shell');
    const frames = call.context.map(previewFrame);
    const stdin = [...(command === null ? [] : [call.prompt]), ...frames].join('\n\n');
    return shellStep(call, stdin, { env, cwd, ...o });
  };
  const capability: StepRunner = async (call) => {
    const { capability: name } = only(call, 'capability');
    const { artifact_ref } = await parts.relay.capabilities.invoke({
      capability: name,
      thread_id: call.run,
      args: call.args,
      idempotency_key: `capability:${call.key}`,
    });
    const { body } = await parts.relay.threads.content(call.run, artifact_ref);
    return { content: await readText(body), by: name, source_refs: [artifact_ref] };
  };
  const bridge: StepRunner = async (call, o) =>
    (await import('./agent-steps.ts')).bridgeStep(parts.open)(call, o);
  const a2a: StepRunner = async (call, o) => (await import('./agent-steps.ts')).a2aStep(call, o);
  return { provider, cli, shell, capability, bridge, a2a };
}

/** A bundle as one text, for whoever knows no difference between system and user. */
export function wholeText({ system, user }: Pick<Bundle, 'system' | 'user'>): string {
  return `${system}\n\n${user}`;
}

function bundleOf({ prompts }: RunnerParts, call: StepCall, system?: string): Promise<Bundle> {
  const refs = call.context.map(({ ref }) => ref);
  return prompts.bundle({ thread_id: call.run, words: call.prompt, system, refs });
}

function only<K extends StepCall['agent']['kind']>(call: StepCall, kind: K) {
  if (call.agent.kind !== kind) throw new RelayError('internal');
  return call.agent as Extract<StepCall['agent'], { kind: K }>;
}
