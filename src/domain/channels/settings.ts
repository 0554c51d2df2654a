import {
  CHANNEL_MESSAGES,
  CHANNEL_RETENTION_MS,
  GROUP_ATTEMPTS,
  GROUP_RETRY_MS,
  LEASE_MS,
} from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { DeadLetter } from '../../contract/channels.ts';
import type { Deps } from '../deps.ts';
import type { PointerLookup } from '../pointers/record.ts';
import type { Storage } from '../usage/storage.ts';
import type { ChannelEntry } from './message.ts';

/** Dependencies of every part of the channels. */
export interface ChannelDeps extends Deps {
  readonly settings: ChannelSettings;
  readonly pointers: PointerLookup;
  readonly storage: Storage;
  /**
   * True in a process without a server, which publishes delayed messages itself because nothing sweeps the
   * store.
   */
  readonly releasesDelayed: boolean;
  /** Returns whether the task of a pointer was canceled. No member gets a canceled task. */
  isCanceled(pointer: string): Promise<boolean>;
  /** Called after a message was acknowledged. */
  onAcked(caller: Caller, at: { channel: string; group: string; seq: number }): void;
  /** Called for every dead letter, after it was added. */
  onDead(tenant: string, letter: LetterEntry): void;
  /**
   * Called when a dead letter is retried. If the dead letter is a task, sends the task again and returns
   * the id of the new task. Otherwise returns null, and the message goes back to its group.
   */
  resend(caller: Caller, letter: LetterEntry): Promise<string | null>;
}

/** An entry in the log of a dead-letter channel. */
export type LetterEntry = ChannelEntry & { readonly dead: DeadLetter };

/** Settings of channels that the operator of the relay may choose. */
export interface ChannelSettings {
  /** Retention in ms. Older messages are deleted. */
  readonly retentionMs: number;
  /** Approximate number of messages that a channel keeps. Messages that a group still needs stay in addition. */
  readonly messages: number;
  readonly leaseMs: number;
  readonly attempts: number;
  /**
   * Waits in ms before failed work is handed out again, one per attempt. The last wait is used for all
   * further attempts. A group may choose its own waits.
   */
  readonly retryMs: readonly number[];
}

export const DEFAULT_CHANNEL_SETTINGS: ChannelSettings = {
  retentionMs: CHANNEL_RETENTION_MS,
  messages: CHANNEL_MESSAGES,
  leaseMs: LEASE_MS,
  attempts: GROUP_ATTEMPTS,
  retryMs: GROUP_RETRY_MS,
};
