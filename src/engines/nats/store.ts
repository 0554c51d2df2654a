import type { Env } from '../../base/env.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { Connection } from './connection.ts';
import type { Expiries } from './expiries.ts';
import type { Folders } from './folders.ts';

/** What the parts of the engine share. */
export interface Store {
  readonly connection: Connection;
  readonly env: Env;
  readonly limits: EngineLimits;
  /** The name of the store, with which all of its subjects begin. */
  readonly name: string;
  readonly streams: Streams;
  /** The first sequence of the logs: what came from another store has kept sequences below it. */
  firstSeq: number;
  readonly expiries: Expiries;
  readonly folders: Folders;
}

export interface Streams {
  readonly records: string;
  readonly logs: string;
  readonly blobs: string;
  readonly documents: string;
}

/** How long the server keeps what has expired by our clock: only for the room that it takes, and clocks may differ. */
const SLACK_MS = 3_600_000;

/** The seconds that a message may stay; undefined for ever. */
export function ttlOf(expiresAt: number | undefined, now: number): number | undefined {
  return expiresAt === undefined ? undefined : Math.ceil((Math.max(expiresAt - now, 0) + SLACK_MS) / 1000);
}
