import type { Case } from './case.ts';

export const searchIndexCases: readonly Case[] = [];
