import { artifactOperations } from './artifacts.ts';
import { capabilityOperations } from './capabilities.ts';
import { channelOperations } from './channels.ts';
import { inboxOperations } from './inbox.ts';
import type { Operation } from './operation.ts';
import { pointerOperations } from './pointers.ts';
import { receiptOperations } from './receipts.ts';
import { threadOperations } from './threads.ts';

/** The table. */
export const OPERATIONS: readonly Operation[] = [
  ...pointerOperations,
  ...channelOperations,
  ...inboxOperations,
  ...receiptOperations,
  ...threadOperations,
  ...artifactOperations,
  ...capabilityOperations,
];
