import { channelOperations } from './channels.ts';
import { inboxOperations } from './inbox.ts';
import type { Operation } from './operation.ts';
import { pointerOperations } from './pointers.ts';
import { receiptOperations } from './receipts.ts';

/** The table. */
export const OPERATIONS: readonly Operation[] = [
  ...pointerOperations,
  ...channelOperations,
  ...inboxOperations,
  ...receiptOperations,
];
