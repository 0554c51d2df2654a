import type { RelayCore } from '../../domain/relay-core.ts';

/** What the program offers to commands that keep the store in order. */

export interface LocalStore extends AsyncDisposable {
  sweep(): ReturnType<RelayCore['tidy']>;
  usage: RelayCore['deps']['engine']['usage'];
  state: RelayCore['deps']['engine']['state'];
  /** Bodies whose files are gone, and the files of some of them. */
  missingBodies(): Promise<{ readonly count: number; readonly some: readonly string[] }>;
  /** Reads every body, one after the other. */
  checkBodies(): AsyncIterable<BodyCheck>;
  /** What is wrong with the database, in its own words; null where nothing is. */
  checkDatabase(): Promise<string | null>;
}

export interface BodyCheck {
  readonly size: number;
  readonly damaged?: DamagedBody;
}

export interface DamagedBody {
  readonly key: string;
  /** Where it is, below the home; null for one that is no file there. */
  readonly file: string | null;
  readonly fault: 'missing' | 'cut' | 'altered';
  /** What refers to it, in words; null where nothing does. */
  readonly refers: string | null;
}

/** How far a copy is. */
export interface CopyReport {
  step(name: 'copy' | 'check' | 'switch', items: number): void;
  add(items: number): void;
}

export interface EngineCopied {
  readonly from: string;
  readonly to: string;
  readonly blobs: number;
  readonly bytes: number;
  readonly records: number;
  readonly logs: number;
  readonly entries: number;
  readonly documents: number;
  /** Keys of bodies that are damaged in the source, and that the copy does without. */
  readonly lost: readonly string[];
  /** How long nobody could write. */
  readonly frozen_ms: number;
}
