import { badRequest, isRelayError } from '../../base/errors.ts';
import { duration } from '../../base/format.ts';
import { uuid } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { DELAY_MS, DELAYED_MESSAGES } from '../../base/limits.ts';
import { EndIndex } from '../end-index.ts';
import { delayedKey } from '../names.ts';
import type { ChannelDeps } from './settings.ts';

/** Time in ms after which a message is tried again if the storage quota of its tenant was used up. */
const RETRY_MS = 60_000;

/** A message that is published later. */
export interface DelayedMessage {
  readonly tenant: string;
  readonly channel: string;
  readonly entry: JsonObject;
  /**
   * Id that makes the append idempotent: if two processes publish a due message at the same time, it is
   * appended once.
   */
  readonly id: string;
}

/**
 * Delayed messages, as records sorted by the time at which they are due. The process that accepted a message
 * publishes it with a timer. If that process has ended, the next sweep of a server publishes it.
 */
export class DelayedMessages {
  readonly #deps: ChannelDeps;
  readonly #waiting: EndIndex<DelayedMessage>;
  readonly #publish: (message: DelayedMessage) => Promise<unknown>;

  constructor(deps: ChannelDeps, publish: (message: DelayedMessage) => Promise<unknown>) {
    this.#deps = deps;
    this.#waiting = new EndIndex(deps, 'sys.dly/');
    this.#publish = publish;
  }

  /** Stores a message and returns the time in ms at which it is due. */
  async add(afterSeconds: number, message: Omit<DelayedMessage, 'id'>, key?: string): Promise<number> {
    const { engine, env } = this.#deps;
    const afterMs = checkDelay(afterSeconds);
    const counter = delayedKey(message.tenant);
    if ((await engine.records.add(counter, 1, { max: DELAYED_MESSAGES })) === null)
      throw badRequest(
        `${DELAYED_MESSAGES} delayed messages are waiting, which is the limit.`,
        'Wait until some of them are sent.',
      );
    const at = env.now() + afterMs;
    const name = uuid(env);
    await this.#waiting.note(at, name, { ...message, id: key === undefined ? `dly:${name}` : `sig:${key}` });
    engine.defer(() => this.release(), afterMs);
    return at;
  }

  /** Publishes the messages that are due. */
  async release(): Promise<void> {
    const { engine, env } = this.#deps;
    await this.#waiting.forDue(async (message) => {
      try {
        await this.#publish(message);
      } catch (error) {
        if (!isRelayError(error, 'over_storage')) throw error;
        // The tenant's quota is used up. Try again later, so that the messages of other tenants do not wait for this one.
        await this.#waiting.note(env.now() + RETRY_MS, message.id, message);
        return;
      }
      await engine.records.add(delayedKey(message.tenant), -1);
    });
  }

  hasDue(): Promise<boolean> {
    return this.#waiting.hasDue();
  }
}

function checkDelay(seconds: number): number {
  const ms = seconds * 1000;
  if (ms > 0 && ms <= DELAY_MS) return ms;
  throw badRequest(`"after" must be more than 0 seconds and at most ${duration(DELAY_MS / 1000)}.`);
}
