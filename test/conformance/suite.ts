import { blobCases } from './blobs.ts';
import type { Case } from './case.ts';
import { engineCases } from './engine.ts';
import { logCases } from './logs.ts';
import { movingCases } from './moving.ts';
import { recordCases } from './records.ts';
import { searchIndexCases } from './search-index.ts';
import { stagedCases } from './staged.ts';
import { writtenBehindCases } from './written-behind.ts';

/** Cases that every engine must pass. */
export const suite: readonly Case[] = [
  ...blobCases,
  ...recordCases,
  ...logCases,
  ...stagedCases,
  ...searchIndexCases,
  ...engineCases,
  ...writtenBehindCases,
];

/** All cases for engines whose store can be moved: the common cases and the moving cases. */
export const movableSuite: readonly Case[] = [...suite, ...movingCases];
