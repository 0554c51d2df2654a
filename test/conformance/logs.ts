import type { Case } from './case.ts';

export const logCases: readonly Case[] = [];
