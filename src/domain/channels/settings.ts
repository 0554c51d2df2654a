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

/** What every part of the channels is built on. */
export interface ChannelDeps extends Deps {
  readonly settings: ChannelSettings;
  readonly pointers: PointerLookup;
  readonly storage: Storage;
  /** Whether the work behind a pointer was called off, so that nobody is to be given it. */
  isCanceled(pointer: string): Promise<boolean>;
  /** Called after a message was acknowledged. */
  onAcked(caller: Caller, at: { channel: string; group: string; seq: number }): void;
  /** Called for every dead letter, once it is where people can look at it. */
  onDead(tenant: string, letter: LetterEntry): void;
  /** Called for a dead letter that is to be tried again. The id of a new task that stands for it; null where the group gets it. */
  resend(caller: Caller, letter: LetterEntry): Promise<string | null>;
}

/** What the log of a channel of dead letters holds. */
export type LetterEntry = ChannelEntry & { readonly dead: DeadLetter };

/** What whoever runs the relay may choose about channels. */
export interface ChannelSettings {
  /** Messages older than this are gone. */
  readonly retentionMs: number;
  /** About how many messages a channel keeps. Work that a group has not claimed is kept beyond it. */
  readonly messages: number;
  readonly leaseMs: number;
  readonly attempts: number;
  /** The waits before failed work is handed out again, for groups that chose none; the last one repeats. */
  readonly retryMs: readonly number[];
}

export const DEFAULT_CHANNEL_SETTINGS: ChannelSettings = {
  retentionMs: CHANNEL_RETENTION_MS,
  messages: CHANNEL_MESSAGES,
  leaseMs: LEASE_MS,
  attempts: GROUP_ATTEMPTS,
  retryMs: GROUP_RETRY_MS,
};
