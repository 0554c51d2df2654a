import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { type Env, systemEnv } from '../../base/env.ts';
import { tooLarge } from '../../base/errors.ts';
import { PROMPT_PREVIEWS, PROMPT_WORDS_BYTES } from '../../base/limits.ts';
import { orElse } from '../../base/or-else.ts';
import { pause } from '../../base/pause.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { readText, utf8Bytes } from '../../base/utf8.ts';
import { AgentBridge } from '../../client/bridge/agent-bridge.ts';
import { Pipelines } from '../../client/pipelines/pipelines.ts';
import type { Worker } from '../../client/pipelines/run-lease.ts';
import { type StepCall, StepFailure, type StepRunners } from '../../client/pipelines/step-runner.ts';
import { type AnswerCache, type CachedAnswer, Prompts } from '../../client/prompts/prompts.ts';
import type { Pulling } from '../../client/prompts/thread-tools.ts';
import {
  type Bundle,
  incompleteness,
  type PromptRequest,
  type ThreadsAs,
} from '../../client/prompts/types.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { partlyShown } from '../../contract/threads.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { storeSecret } from '../../domain/store-secret.ts';
import type { AgentWork, OpenClient, Programs } from '../../interfaces/cli/host.ts';
import { inProject } from '../../interfaces/cli/project-call.ts';
import type { Records } from '../../kernel/records.ts';
import { cliStep, commandLine, installedClis, PROFILES, profileOf, shellStep } from '../../runners/cli.ts';
import { findProgram } from '../../runners/find-program.ts';
import { promptFile, runInForeground } from '../../runners/processes.ts';
import { openModel } from '../../runners/provider/provider.ts';
import { httpRelay } from '../../sdk/http-relay.ts';
import { artifactFrame, type FrameSecret } from '../../text/frame.ts';
import type { Config, Environment } from '../config.ts';
import { isAlive } from '../serve/pid-file.ts';
import { openCore, type Warn } from '../store/open-core.ts';
import { openRelay } from '../store/open-relay.ts';
import { personAsker, secretReader } from './pipeline-people.ts';

/**
 * Opens prompts and pipelines on the threads of a relay. This process calls models and programs itself, even
 * if the threads are on a server. Answers to identical prompts are cached.
 */
export async function openAgentWork(
  config: Config,
  env: Environment,
  cwd: string,
  warn?: Warn,
): Promise<AgentWork> {
  const { core, ...store } = await openCore(config, 'agents', { warn });
  const relays = relaysOf(config, core);
  const threads: ThreadsAs = (who) => relays(who).threads;
  const { engine, texts: tokens, env: storeEnv } = core.deps;
  const shared = {
    threads,
    env: systemEnv,
    cache: answerCache(engine.records, storeEnv),
    frameSecret: storeSecret(core.deps),
    project: inProject(cwd).project,
  };
  const prompts = new Prompts({ ...shared, tokens });
  const model: AgentWork['model'] = (choice) => openModel(choice, env, installedClis(env), config.prompts);
  let client: Promise<OpenClient> | null = null;
  const open = () => {
    client ??= openRelay(config);
    return client;
  };
  const { frameSecret } = shared;
  const relay = relays('pipeline');
  const runners = stepRunners({ prompts, tokens, model, env, cwd, frameSecret, relay, open });
  const worker = pipelineWorker(config.remote);
  return {
    threads: threads(config.agent ?? LOCAL_CALLER.name),
    prompts,
    pipelines: new Pipelines({
      ...shared,
      runners,
      pause,
      worker,
      prices: config.prices,
      variables: env,
      ask: personAsker(relay, { env, cwd, warn }),
      readSecret: secretReader({ env, cwd }),
    }),
    model,
    programs: programs(env, cwd),
    prices: config.prices,
    relay,
    [Symbol.asyncDispose]: async () => {
      await (await client)?.[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/**
 * Returns a function that opens the relay under the name of an agent. The relay then records this agent as
 * the author.
 */
function relaysOf(config: Config, core: RelayCore): (who: string) => Relay {
  if (config.remote !== null) {
    const connection = { baseUrl: config.remote, apiKey: config.apiKey ?? undefined };
    return (name) => httpRelay({ ...connection, agent: name === LOCAL_CALLER.name ? undefined : name });
  }
  return (name) => core.relay(core.actingAs(LOCAL_CALLER, name), config.publicUrl);
}

/** Cache of model answers, in records that expire. The key is a hash of the prompt. */
function answerCache(records: Records, env: Env): AnswerCache {
  const key = (digest: string) => `ten.${LOCAL_CALLER.tenant}/answers/${digest}`;
  return {
    get: async (digest) => {
      const found = await records.get(key(digest));
      return (found?.value ?? null) as unknown as CachedAnswer | null;
    },
    put: async (digest, answer, ttlMs) => {
      await records.put(key(digest), { ...answer }, { expiresAt: env.now() + ttlMs });
    },
  };
}

/**
 * Returns the name of this process in the leases of runs, and a function that checks whether the process with
 * another name is alive. The check works only with a local store and on the same host. With a server its result is
 * unknown, because two client machines of the server may have the same host name.
 */
function pipelineWorker(remote: string | null): Worker {
  const host = hostname();
  return {
    // `userInfo` throws if the user id of this process has no name.
    name: `${orElse(() => userInfo().username, 'somebody')} on ${host}, process ${process.pid}`.slice(-200),
    isAlive: (name) => {
      const [, elsewhere, pid] = / on (.+), process (\d+)$/.exec(name) ?? [];
      if (remote !== null || elsewhere !== host) return null;
      return isAlive({ pid: Number(pid), birth: null });
    },
  };
}

/** Runs installed programs with the environment and in the folder of the caller. */
function programs(env: Environment, cwd: string): Programs {
  return {
    known: () => {
      const here = installedClis(env);
      const entries = Object.entries(PROFILES);
      return entries.map(([name, { about }]) => ({ name, about, installed: here.includes(name) }));
    },
    converses: (cli) => profileOf(cli)?.converses !== false,
    exists: (cli) => findProgram(cli.includes('/') ? resolve(cwd, cli) : cli, env) !== null,
    async run({ cli, args, promptBy, prompt, terminal, thread, onOutput, onComplaint }) {
      await using file = promptFile();
      const line =
        prompt === null
          ? { command: cli, args }
          : await commandLine({ cli, args, promptBy }, prompt, file.write);
      return await runInForeground(line, {
        env: thread === undefined ? env : { ...env, RELAY_THREAD: thread },
        cwd,
        terminal,
        onOutput,
        onComplaint,
      });
    },
  };
}

interface RunnerParts extends Pick<AgentWork, 'prompts' | 'model'> {
  readonly relay: Relay;
  readonly tokens: TokenCounter;
  readonly frameSecret: FrameSecret;
  /** Returns a client of the relay. The first call opens it, and later calls return the same client. */
  open(): Promise<OpenClient>;
  readonly env: Environment;
  readonly cwd: string;
}

/** Maximum time in ms to wait for a task of a remote agent. Usually the timeout of the step is shorter. */
const MAX_WAIT_MS = 24 * 60 * 60 * 1000;

/** Returns the functions that run the steps of a pipeline, one for each kind of agent. */
function stepRunners({
  prompts,
  tokens,
  relay,
  frameSecret,
  open,
  env,
  cwd,
  ...parts
}: RunnerParts): StepRunners {
  const previews = ({ context }: StepCall) =>
    Promise.all(context.map((artifact) => artifactFrame(artifact, frameSecret)));
  /**
   * Lists the context artifacts of a step that the task shows only in part, because the preview is shorter than the
   * text.
   */
  const previewed = ({ context }: StepCall) =>
    context
      .filter(({ preview }) => preview.truncated)
      .map((artifact) => partlyShown(artifact, utf8Bytes(artifact.preview.text)));
  /**
   * Lists the artifacts that a prompt shows only in part, or omits because the number of previews is limited.
   */
  const seenIn = ({ partial }: Bundle, { context }: StepCall) => [
    ...partial,
    ...context.slice(PROMPT_PREVIEWS).map((artifact) => partlyShown(artifact, 0)),
  ];
  /** Returns the text of a task for a remote agent: the prompt of the step and the previews of the step's context. */
  const taskText = async (call: StepCall) => [call.prompt, ...(await previews(call))].join('\n\n');
  const priced = async ({ prompt, context }: StepCall, text: string) => {
    const [promptTokens, ownTokens] = await Promise.all([tokens.count(text), tokens.count(prompt)]);
    const pasted = context.reduce((sum, artifact) => sum + artifact.tokens.content, ownTokens.tokens);
    return { tokens: promptTokens, pasted: { ...ownTokens, tokens: pasted } };
  };
  /**
   * Builds the prompt of a step. The prompt has previews only of the artifacts in the context of the step, not of
   * all artifacts of the run.
   */
  const bundleOf = ({ run, prompt, context }: StepCall, reader: PromptRequest['reader'], system?: string) => {
    if (utf8Bytes(prompt) > PROMPT_WORDS_BYTES) {
      const hint =
        'List steps in "context" instead of inserting their output with {{ … }}. The prompt then contains previews of their output, and the agent can pull the rest.';
      throw tooLarge('the prompt of a step', PROMPT_WORDS_BYTES, hint);
    }
    const refs = context.slice(0, PROMPT_PREVIEWS).map(({ ref }) => ref);
    return prompts.bundle({ thread_id: run, words: prompt, system, refs, previews: refs.length, reader });
  };
  return {
    async provider(call, { signal, onOutput }) {
      const { provider, model, base_url: baseUrl, max_tokens: maxTokens, system } = call.agent;
      const chosen = parts.model({ provider, model, baseUrl, maxTokens });
      const bundle = await bundleOf(call, call.pulls.rounds === 0 ? 'none' : 'tools', system);
      const only = call.context.map(({ ref }) => ref);
      let heard = '';
      const onText = (text: string) => {
        heard += text;
        onOutput(text);
      };
      const enough: Pulling['enough'] = (billed) => call.enough(chosen.name, billed);
      const o = { signal, onText, only, enough, ...call.pulls };
      const answer = await prompts.answer(bundle, chosen, o).catch((error: Error) => {
        throw heard === '' ? error : new StepFailure(error.message, heard);
      });
      const { text, billed, cut, pulls } = answer;
      const partial = seenIn(bundle, call);
      const incomplete = incompleteness(answer);
      return { content: text, by: chosen.name, billed, cut, pulls, prompt: bundle, partial, incomplete };
    },
    async cli(call, o) {
      const { cli, args, prompt_by: promptBy } = call.agent;
      const prompt = await bundleOf(call, 'shell', call.agent.system);
      const text = `${prompt.system}\n\n${prompt.user}`;
      const result = await cliStep({ cli, args, promptBy }, call, text, {
        env: { ...env, ...call.env },
        cwd,
        ...o,
      });
      return { ...result, prompt, partial: seenIn(prompt, call) };
    },
    async shell(call, o) {
      const promptArgs = call.agent.command === null ? [] : [call.prompt];
      const text = [...promptArgs, ...(await previews(call))].join('\n\n');
      return {
        ...(await shellStep(call, text, { env: { ...env, ...call.env }, cwd, ...o })),
        partial: previewed(call),
      };
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
    /**
     * Sends the step as a task to the agent that serves the channel. The idempotency key keeps a resumed run
     * from sending a second task.
     */
    async bridge(call, { signal }) {
      const { channel, done_channel, to } = call.agent;
      const opened = await open();
      const client = await opened.client();
      const resolve = opened.resolve;
      const bridge = new AgentBridge(client, { taskChannel: channel, doneChannel: done_channel, resolve });
      const task = await taskText(call);
      const { id } = await bridge.send(task, {
        to,
        signal,
        summary: `${call.step} of run ${call.run}`,
        idempotencyKey: `step:${call.key}:${call.attempt}`,
      });
      const waiting = bridge.wait(id, { signal, timeout: MAX_WAIT_MS });
      const answer = await waiting.catch(async (error) => {
        // After a timeout nobody waits for the task, so cancel it. If the run was only stopped, keep the
        // task: the resumed run waits for it. If canceling fails, the caller still gets the timeout error.
        if (signal.reason?.name === 'TimeoutError')
          await client.tasks.cancel(id, { reason: `step ${call.step} took too long` }).catch(() => null);
        throw error;
      });
      if (answer.status !== 'done')
        throw new StepFailure(answer.summary ?? answer.text.slice(0, 300), answer.text);
      return {
        content: answer.text,
        by: to ?? channel,
        prompt: await priced(call, task),
        partial: previewed(call),
      };
    },
    async a2a(call, { signal }) {
      const { url } = call.agent;
      const { a2aBridgeRunner } = await import('../../runners/a2a.ts');
      const prompt = await taskText(call);
      const { output, failed } = await a2aBridgeRunner(url).run({ prompt, signal });
      if (failed !== undefined) throw new StepFailure(failed, output);
      return { content: output, by: url, prompt: await priced(call, prompt), partial: previewed(call) };
    },
  };
}
