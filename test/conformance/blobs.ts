import type { Case } from './case.ts';

export const blobCases: readonly Case[] = [];
