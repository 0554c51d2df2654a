import { blobCases } from './blobs.ts';
import type { Case } from './case.ts';
import { engineCases } from './engine.ts';
import { logCases } from './logs.ts';
import { recordCases } from './records.ts';
import { searchIndexCases } from './search-index.ts';
import { writtenBehindCases } from './written-behind.ts';

/** Everything an engine has to keep, whatever it is made of. */
export const suite: readonly Case[] = [
  ...blobCases,
  ...recordCases,
  ...logCases,
  ...searchIndexCases,
  ...engineCases,
  ...writtenBehindCases,
];
