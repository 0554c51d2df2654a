import { bytes } from '../../base/format.ts';
import type { Artifact } from './artifacts.ts';

export interface SearchHit extends Pick<Artifact, 'ref' | 'thread_id' | 'name'> {
  readonly type: string;
  readonly score: number;
  /** A passage, sanitised, with `**` around what matched. */
  readonly snippet: string;
  /** The line of the content on which the passage begins. */
  readonly line: number;
}

/** What a search did not see. */
export interface Unsearched {
  /** The rest is being indexed, and is found once that is done. False where this relay searches no more of them than this. */
  readonly indexing: boolean;
  /** Artifacts of which the first `searched` of `size` bytes were searched; at most 20 are named. */
  readonly artifacts: readonly {
    readonly ref: string;
    readonly thread_id: string;
    readonly size: number;
    readonly searched: number;
  }[];
}

export interface SearchAnswer {
  readonly hits: SearchHit[];
  /** Absent where everything was searched. */
  readonly unsearched?: Unsearched;
}

/** One line that says what a search did not see. */
export function unsearchedText({ indexing, artifacts }: Unsearched): string {
  const parts = artifacts.map(
    ({ ref, size, searched }) => `${bytes(searched)} of the ${bytes(size)} of ${ref}`,
  );
  const searched = parts.length > 0 ? `Searched only ${parts.join(', ')}.` : 'Not everything was searched.';
  const rest = indexing
    ? 'The rest is being indexed: search again in a moment.'
    : 'This relay indexes no more of one artifact.';
  return `${searched} ${rest}`;
}
