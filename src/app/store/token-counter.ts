import type { TokenCounter } from '../../base/tokens.ts';
import { ownTextWork } from './own-text-work.ts';

/** Counts in this process. */
export const ownTokenCounter: TokenCounter = ownTextWork;
