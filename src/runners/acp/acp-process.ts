import { Readable, Writable } from 'node:stream';
import {
  type ClientConnection,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptRequest,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { AcpOptions } from '../../client/bridge/runners.ts';
import { type LeashedShell, leashedShell, signalGroup, whyEnded } from '../leashed-shell.ts';

/** For an agent to start and say what it is: some download themselves first. */
const START_MS = 120_000;
const STDERR_CHARS = 4_096;

/** An agent's process and the connection to it. */
export class AcpProcess {
  /** Resolves with why, once the process is no more. */
  readonly ended: Promise<string>;
  readonly #child: LeashedShell;
  readonly #cwd: string;
  readonly #listeners = new Map<string, (text: string) => void>();
  readonly #connection: ClientConnection;
  #why: string | null = null;

  private constructor(o: AcpOptions) {
    this.#cwd = o.cwd ?? process.cwd();
    const child = leashedShell(o.command, { cwd: this.#cwd, env: { ...(o.env ?? process.env) } });
    this.#child = child;
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr = (stderr + chunk).slice(-STDERR_CHARS);
    });
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
      await agent.#ask(
        agent.#connection.agent.request(methods.agent.initialize, {
          protocolVersion: PROTOCOL_VERSION,
          // The agent works on its own files, as it does in a terminal.
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
    const { sessionId } = await this.#ask(opened, START_MS);
    return {
      /** Resolves with the reason for which the agent stopped. What it says to the user is told as it comes. */
      prompt: async (text: string, told: (text: string) => void): Promise<string> => {
        this.#listeners.set(sessionId, told);
        const request: PromptRequest = { sessionId, prompt: [{ type: 'text', text }] };
        const asked: Promise<PromptResponse> = agent.request(methods.agent.session.prompt, request);
        try {
          return (await this.#ask(asked)).stopReason;
        } finally {
          this.#listeners.delete(sessionId);
        }
      },
      cancel: () => agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {}),
    };
  }

  kill(): void {
    this.#signal('SIGKILL');
  }

  /** Closing its input is how an agent is told to go; one that stays is made to. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    this.#signal('SIGTERM');
    const forced = setTimeout(() => this.kill(), 2_000);
    await this.ended;
    clearTimeout(forced);
  }

  /** The answer, or why there will be none. */
  async #ask<T>(asked: Promise<T>, withinMs?: number): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const gone = this.ended.then((why) => {
      throw new RelayError('agent_gone', { what: why });
    });
    const late = new Promise<never>((_, reject) => {
      if (withinMs === undefined) return;
      const what = `it did not answer within ${withinMs / 1000} s.`;
      timer = setTimeout(() => reject(new RelayError('agent_gone', { what })), withinMs);
    });
    try {
      return await Promise.race([asked, gone, late]);
    } catch (error) {
      // A broken pipe is only how an ended process shows itself first.
      if (!isRelayError(error)) await Promise.race([this.ended, pause(200)]);
      if (!isRelayError(error) && this.#why !== null)
        throw new RelayError('agent_gone', { what: this.#why }, error);
      throw error;
    } finally {
      clearTimeout(timer);
      gone.catch(() => {});
    }
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#why === null) signalGroup(this.#child, signal);
  }
}

const READS: readonly (string | null | undefined)[] = ['read', 'search', 'think', 'fetch'];

/** Nobody is there to be asked: what was allowed ahead is allowed this once, the rest is refused. */
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
