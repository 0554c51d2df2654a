import { blobCases } from './blobs.ts';
import type { Case } from './case.ts';
import { engineCases } from './engine.ts';
import { logCases } from './logs.ts';
import { movingCases } from './moving.ts';
import { recordCases } from './records.ts';
import { searchIndexCases } from './search-index.ts';
import { stagedCases } from './staged.ts';
import { writtenBehindCases } from './written-behind.ts';

/** Everything an engine has to keep, whatever it is made of. */
export const suite: readonly Case[] = [
  ...blobCases,
  ...recordCases,
  ...logCases,
  ...stagedCases,
  ...searchIndexCases,
  ...engineCases,
  ...writtenBehindCases,
];

/** And what one keeps that a store can be moved from and to. */
export const movableSuite: readonly Case[] = [...suite, ...movingCases];
