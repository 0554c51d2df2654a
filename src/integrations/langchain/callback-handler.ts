import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import { isBaseMessage } from '@langchain/core/messages';
import type { LLMResult } from '@langchain/core/outputs';
import type { ChainValues } from '@langchain/core/utils/types';
import type { ContextRelay } from '../../sdk/context-relay.ts';

export type PushedOutput = 'chain' | 'llm' | 'tool';

export interface ContextRelayCallbackOptions {
  readonly relay: ContextRelay;
  /** Where outputs are announced. */
  readonly channel: string;
  /** Whose outputs: those of the outermost chain by default. `llm` and `tool` push one for each call. */
  readonly outputs?: readonly PushedOutput[];
  readonly encrypted?: boolean;
  /** Seconds until an output expires; a day by default. */
  readonly ttl?: number;
  /** Told when an output could not be pushed; the run goes on. A warning on the console by default. */
  readonly onError?: (error: unknown) => void;
}

/** Pushes what a run puts out to a channel, for agents that wait there. A run waits until its outputs are at the relay. */
export class ContextRelayCallbackHandler extends BaseCallbackHandler {
  name = 'ContextRelayCallbackHandler';
  override awaitHandlers = true;
  readonly #options: ContextRelayCallbackOptions;
  readonly #outputs: readonly PushedOutput[];

  constructor(options: ContextRelayCallbackOptions) {
    super();
    this.#options = options;
    this.#outputs = options.outputs ?? ['chain'];
  }

  override async handleChainEnd(outputs: ChainValues, runId: string, parentRunId?: string): Promise<void> {
    if (parentRunId === undefined) await this.#push('chain', outputs, runId);
  }

  override async handleLLMEnd(output: LLMResult, runId: string): Promise<void> {
    await this.#push(
      'llm',
      output.generations
        .flat()
        .map(({ text }) => text)
        .join('\n'),
      runId,
    );
  }

  override async handleToolEnd(output: unknown, runId: string): Promise<void> {
    await this.#push('tool', output, runId);
  }

  async #push(kind: PushedOutput, output: unknown, run: string): Promise<void> {
    if (!this.#outputs.includes(kind)) return;
    const { relay, channel, encrypted, ttl, onError = warn } = this.#options;
    const text = textOf(output);
    if (text === '') return;
    try {
      await relay.push(text, {
        channel,
        encrypted,
        ttl,
        // A handler that is attached twice, or told twice, pushes once.
        idempotencyKey: encrypted ? undefined : `${kind}-${run}`,
        metadata: { summary: `output of ${kind} ${run}`, kind, run },
      });
    } catch (error) {
      onError(error);
    }
  }
}

/** The words of a message, the last message of an agent's state, a text as it is, anything else as JSON. */
function textOf(output: unknown): string {
  if (output === null || output === undefined) return '';
  if (typeof output === 'string') return output;
  if (isBaseMessage(output)) return output.text;
  const { messages, output: inner } = output as { messages?: unknown; output?: unknown };
  if (Array.isArray(messages) && isBaseMessage(messages.at(-1))) return messages.at(-1).text;
  if (typeof inner === 'string' || isBaseMessage(inner)) return textOf(inner);
  return JSON.stringify(output) ?? '';
}

function warn(error: unknown): void {
  console.warn(`contextrelay: an output could not be pushed: ${String(error)}`);
}
