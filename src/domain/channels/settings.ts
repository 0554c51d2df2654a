import { CHANNEL_MESSAGES, CHANNEL_RETENTION_MS, GROUP_ATTEMPTS, LEASE_MS } from '../../base/limits.ts';
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
  onDead(tenant: string, letter: ChannelEntry & { readonly dead: DeadLetter }): void;
}

/** What whoever runs the relay may choose about channels. */
export interface ChannelSettings {
  /** Messages older than this are gone. */
  readonly retentionMs: number;
  /** About how many messages a channel keeps. Work that a group has not claimed is kept beyond it. */
  readonly messages: number;
  readonly leaseMs: number;
  readonly attempts: number;
}

export const DEFAULT_CHANNEL_SETTINGS: ChannelSettings = {
  retentionMs: CHANNEL_RETENTION_MS,
  messages: CHANNEL_MESSAGES,
  leaseMs: LEASE_MS,
  attempts: GROUP_ATTEMPTS,
};
