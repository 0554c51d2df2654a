import { CHANNEL_MESSAGES, CHANNEL_RETENTION_MS, GROUP_ATTEMPTS, LEASE_MS } from '../../base/limits.ts';

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
