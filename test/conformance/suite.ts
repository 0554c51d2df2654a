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

/** Additional cases for engines that can be moved. */
export const movableSuite: readonly Case[] = [...suite, ...movingCases];
