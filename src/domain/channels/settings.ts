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

/** What every part of the channels needs. */
export interface ChannelDeps extends Deps {
  readonly settings: ChannelSettings;
  readonly pointers: PointerLookup;
  readonly storage: Storage;
  /** Returns whether the work of a pointer was canceled, so that nobody gets it. */
  isCanceled(pointer: string): Promise<boolean>;
  /** Called after a message was acknowledged. */
  onAcked(caller: Caller, at: { channel: string; group: string; seq: number }): void;
  /** Called for every dead letter, after it was added. */
  onDead(tenant: string, letter: LetterEntry): void;
  /**
   * Called for a dead letter that is retried. Returns the id of a new task that replaces it; null if the group gets it
   * again.
   */
  resend(caller: Caller, letter: LetterEntry): Promise<string | null>;
}

/** An entry in the log of a dead-letter channel. */
export type LetterEntry = ChannelEntry & { readonly dead: DeadLetter };

/** Settings of channels that the operator of the relay may choose. */
export interface ChannelSettings {
  /** Older messages are dropped. */
  readonly retentionMs: number;
  /** Approximate number of messages a channel keeps. Unclaimed work of a group is kept beyond it. */
  readonly messages: number;
  readonly leaseMs: number;
  readonly attempts: number;
  /** Waits before failed work is handed out again, for groups that chose none; the last one repeats. */
  readonly retryMs: readonly number[];
}

export const DEFAULT_CHANNEL_SETTINGS: ChannelSettings = {
  retentionMs: CHANNEL_RETENTION_MS,
  messages: CHANNEL_MESSAGES,
  leaseMs: LEASE_MS,
  attempts: GROUP_ATTEMPTS,
  retryMs: GROUP_RETRY_MS,
};
