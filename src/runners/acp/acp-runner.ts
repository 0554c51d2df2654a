import { TASK_OUTPUT_BYTES } from '../../base/limits.ts';
import type { Job, Ran, Runner } from '../../client/bridge/runner.ts';
import type { AcpOptions } from '../../client/bridge/runners.ts';
import { endWhenAborted } from '../leashed-shell.ts';
import { AcpProcess } from './acp-process.ts';

/**
 * An agent that speaks the Agent Client Protocol: one process, a session of its own for each task. A process that died is
 * started anew for the next task.
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

  /** Started before the first task, so that an agent that is not there is told at once. */
  async open(): Promise<void> {
    await this.#running();
  }

  async run(job: Job): Promise<Ran> {
    const agent = await this.#running();
    const session = await agent.newSession();
    // Before there is a prompt, an agent has nothing to cancel.
    if (job.signal.aborted) return { output: '', failed: WHY_STOPPED.cancelled };
    let said = '';
    using _ = endWhenAborted(job.signal, (force) => {
      if (force) agent.kill();
      else void session.cancel();
    });
    try {
      const reason = await session.prompt(job.prompt, (text) => {
        said = (said + text).slice(-TASK_OUTPUT_BYTES);
      });
      const failed = WHY_STOPPED[reason];
      return { output: said, ...(failed === undefined ? {} : { failed }) };
    } catch (error) {
      return { output: said, failed: error instanceof Error ? error.message : String(error) };
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

/** Of the protocol's reasons to stop, those that are no success. */
const WHY_STOPPED: { readonly [reason: string]: string | undefined } = {
  cancelled: 'The agent was stopped.',
  refusal: 'The agent refused the task.',
  max_tokens: 'The agent ran out of tokens before it was done.',
  max_turn_requests: 'The agent made as many requests as it may, and was not done.',
};
