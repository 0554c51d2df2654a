import type { Operation } from './operation.ts';
import { pointerOperations } from './pointers.ts';

/** The table. */
export const OPERATIONS: readonly Operation[] = [...pointerOperations];
