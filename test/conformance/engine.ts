import type { Case } from './case.ts';

export const engineCases: readonly Case[] = [];
