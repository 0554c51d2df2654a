import { artifactOperations } from './artifacts.ts';
import { capabilityOperations } from './capabilities.ts';
import { channelOperations } from './channels.ts';
import { inboxOperations } from './inbox.ts';
import { keyOperations } from './keys.ts';
import type { Operation } from './operation.ts';
import { pointerOperations } from './pointers.ts';
import { receiptOperations } from './receipts.ts';
import { taskOperations } from './tasks.ts';
import { threadOperations } from './threads.ts';
import { usageOperations } from './usage.ts';

/** The table. */
export const OPERATIONS: readonly Operation[] = [
  ...pointerOperations,
  ...channelOperations,
  ...inboxOperations,
  ...receiptOperations,
  ...threadOperations,
  ...artifactOperations,
  ...capabilityOperations,
  ...keyOperations,
  ...usageOperations,
  ...taskOperations,
];

export function operationNamed(name: string): Operation {
  const found = OPERATIONS.find((operation) => operation.name === name);
  if (!found) throw new Error(`There is no operation called ${name}.`);
  return found;
}
