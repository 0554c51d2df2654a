import { Readable, Writable } from 'node:stream';
import {
  type ClientConnection,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import { isRelayError, RelayError } from '../base/errors.ts';
import { TASK_OUTPUT_BYTES } from '../base/limits.ts';
import { pause } from '../base/pause.ts';
import type { AcpOptions, Job, Ran, Runner } from '../client/bridge/runner.ts';
import { endWhenAborted, signalGroup, startSupervised, whyEnded } from './processes.ts';

/**
 * Runs tasks with an agent that speaks the Agent Client Protocol. One process runs all tasks, each in a new
 * session. If the process has ended, the next task starts a new one.
 */
export class AcpRunner implements Runner {
  readonly kind = 'acp';
  readonly target: string;
  readonly #options: AcpOptions;
  #process: Promise<AcpProcess> | null = null;

  constructor(o: AcpOptions) {
    this.#options = o;
    this.target = o.command;
  }

  /** Starts the agent before the first task, so that the user learns at once if it is missing. */
  async open(): Promise<void> {
    await this.#running();
  }

  async run(job: Job): Promise<Ran> {
    const agent = await this.#running();
    const session = await agent.newSession();
    // Nothing to cancel at the agent, because no prompt was sent yet.
    if (job.signal.aborted) return { output: '', failed: WHY_STOPPED.cancelled };
    let output = '';
    using _ = endWhenAborted(job.signal, (force) => {
      if (force) agent.kill();
      else void session.cancel();
    });
    try {
      const reason = await session.prompt(job.prompt, (text) => {
        output = (output + text).slice(-TASK_OUTPUT_BYTES);
      });
      return { output, failed: WHY_STOPPED[reason] };
    } catch (error) {
      return { output, failed: error instanceof Error ? error.message : String(error) };
    }
  }

  async close(): Promise<void> {
    const started = this.#process;
    this.#process = null;
    await (await started?.catch(() => null))?.close();
  }

  #running(): Promise<AcpProcess> {
    if (this.#process) return this.#process;
    const starting = AcpProcess.start(this.#options);
    this.#process = starting;
    const forget = () => {
      if (this.#process === starting) this.#process = null;
    };
    starting.then((agent) => agent.ended.then(forget), forget);
    return starting;
  }
}

/** Messages for the stop reasons of the protocol that mean failure. */
const WHY_STOPPED: { readonly [reason: string]: string | undefined } = {
  cancelled: 'The agent was stopped.',
  refusal: 'The agent refused the task.',
  max_tokens: 'The agent ran out of tokens before it was done.',
  max_turn_requests: 'The agent reached its limit of requests before it was done.',
};

/**
 * Maximum time in ms until a started agent introduces itself. It is long, because some agents first download
 * themselves.
 */
const START_MS = 120_000;
const STDERR_CHARS = 4_096;

/** The process of an agent and the connection to it. */
class AcpProcess {
  /** Resolves when the process has ended, with a sentence that says how it ended. */
  readonly ended: Promise<string>;
  readonly #child: ReturnType<typeof startSupervised>;
  readonly #cwd: string;
  readonly #listeners = new Map<string, (text: string) => void>();
  readonly #connection: ClientConnection;
  #why: string | null = null;

  private constructor(o: AcpOptions) {
    this.#cwd = o.cwd ?? process.cwd();
    const child = startSupervised(
      { command: o.command },
      { cwd: this.#cwd, env: { ...(o.env ?? process.env) }, graceful: true },
    );
    this.#child = child;
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr = (stderr + chunk).slice(-STDERR_CHARS);
    });
    // Ignore the error of writing to a process that has ended, because `ended` reports the end.
    child.stdin.on('error', () => {});
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(`The agent could not be started (${error.message}).`));
      child.once('close', (code, signal) => resolve(whyEnded('agent', code, signal, stderr)));
    });
    this.ended.then((why) => {
      this.#why = why;
    });
    const stream = ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>,
    );
    this.#connection = client({ name: 'relay-bridge' })
      .onRequest(methods.client.session.requestPermission, ({ params }) => permit(params, o.allow ?? 'reads'))
      .onNotification(methods.client.session.update, ({ params }) => {
        const { update, sessionId } = params;
        if (update.sessionUpdate !== 'agent_message_chunk' || update.content.type !== 'text') return;
        this.#listeners.get(sessionId)?.(update.content.text);
      })
      .connect(stream);
  }

  static async start(o: AcpOptions): Promise<AcpProcess> {
    const agent = new AcpProcess(o);
    try {
      await agent.#waitFor(
        agent.#connection.agent.request(methods.agent.initialize, {
          protocolVersion: PROTOCOL_VERSION,
          // Offer the agent no access to files. It reads and writes them itself, as in a terminal.
          clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        }),
        START_MS,
      );
      return agent;
    } catch (error) {
      agent.kill();
      throw error;
    }
  }

  async newSession() {
    const { agent } = this.#connection;
    const opened = agent.request(methods.agent.session.new, { cwd: this.#cwd, mcpServers: [] });
    const { sessionId } = await this.#waitFor(opened, START_MS);
    return {
      /**
       * Sends a prompt and resolves with the agent's stop reason. Calls `onText` with the agent's text as it arrives.
       */
      prompt: async (text: string, onText: (text: string) => void): Promise<string> => {
        this.#listeners.set(sessionId, onText);
        const request = { sessionId, prompt: [{ type: 'text' as const, text }] };
        try {
          const answer: Promise<PromptResponse> = agent.request(methods.agent.session.prompt, request);
          return (await this.#waitFor(answer)).stopReason;
        } finally {
          this.#listeners.delete(sessionId);
        }
      },
      // Ignore an error. If the agent does not stop, it is killed later.
      cancel: () => agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {}),
    };
  }

  kill(): void {
    this.#signal('SIGKILL');
  }

  /** Closes the agent's input and sends SIGTERM. Kills the agent if it is still running after two seconds. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    this.#signal('SIGTERM');
    const forced = setTimeout(() => this.kill(), 2_000);
    await this.ended;
    clearTimeout(forced);
  }

  /**
   * Returns the answer of the agent. Rejects with `agent_gone` if the process ends first or `withinMs` has
   * passed.
   */
  async #waitFor<T>(answer: Promise<T>, withinMs?: number): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const endOfAgent = this.ended.then((why) => {
      throw new RelayError('agent_gone', { what: why });
    });
    const late = new Promise<never>((_, reject) => {
      if (withinMs === undefined) return;
      const what = `it did not answer within ${withinMs / 1000} s.`;
      timer = setTimeout(() => reject(new RelayError('agent_gone', { what })), withinMs);
    });
    try {
      return await Promise.race([answer, endOfAgent, late]);
    } catch (error) {
      // When the process ends, a broken pipe is often noticed before the end. So wait a moment for the end,
      // because it gives a better error.
      if (!isRelayError(error)) await Promise.race([this.ended, pause(200)]);
      if (!isRelayError(error) && this.#why !== null)
        throw new RelayError('agent_gone', { what: this.#why }, error);
      throw error;
    } finally {
      clearTimeout(timer);
      // `endOfAgent` rejects when the process ends, even long after the answer. Handle this, otherwise the
      // runtime reports it as unhandled.
      endOfAgent.catch(() => {});
    }
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#why === null) signalGroup(this.#child, signal);
  }
}

const READS: readonly (string | null | undefined)[] = ['read', 'search', 'think', 'fetch'];

/**
 * Answers a permission request in place of a person. Allows the action if `allow` covers it, otherwise
 * rejects it. The answer is for this one request only, if the agent offers that option.
 */
function permit(
  { options, toolCall }: RequestPermissionRequest,
  allow: NonNullable<AcpOptions['allow']>,
): RequestPermissionResponse {
  const may = allow === 'all' || (allow === 'reads' && READS.includes(toolCall.kind));
  const answer = may ? 'allow' : 'reject';
  const option =
    options.find(({ kind }) => kind === `${answer}_once`) ??
    options.find(({ kind }) => kind === `${answer}_always`);
  if (!option) return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: option.optionId } };
}
