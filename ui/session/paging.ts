import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Relay } from '../../src/contract/relay.ts';
import { handleUnauthorized, relay } from './session.ts';

/** Rows per request. */
const PAGE_ROWS = 200;
/** Maximum of rows in memory. When scrolling further, rows far above are dropped. */
export const MAX_ROWS = 2_000;

export interface Paged<T> {
  readonly rows: readonly T[];
  /** Number of rows dropped before these; `first` goes back to them. */
  readonly skipped: number;
  readonly pending: boolean;
  readonly error: unknown;
  /** True if there are no further rows. */
  readonly ended: boolean;
  readonly more: () => void;
  /** Starts again from the beginning. */
  readonly first: () => void;
}

export interface Page<T> {
  readonly rows: readonly T[];
  readonly next?: string;
}

interface PagingState<T> {
  readonly rows: readonly T[];
  readonly skipped: number;
  readonly next: string | undefined;
  readonly pending: boolean;
  readonly error: unknown;
  readonly ended: boolean;
}

/** A paged list that loads further pages on scrolling. */
export function usePages<T>(
  read: (relay: Relay, o: { after?: string; limit: number }) => Promise<Page<T>>,
  on: readonly unknown[],
): Paged<T> {
  const empty: PagingState<T> = {
    rows: [],
    skipped: 0,
    next: undefined,
    pending: true,
    error: undefined,
    ended: false,
  };
  const [state, setState] = useState(empty);
  const latest = useRef(state);
  latest.current = state;
  const latestRequest = useRef(0);
  const reader = useRef(read);
  reader.current = read;
  const current = relay.value;

  const load = useCallback(
    (from: PagingState<T>) => {
      const request = ++latestRequest.current;
      setState({ ...from, pending: true, error: undefined });
      reader.current(current, { after: from.next, limit: PAGE_ROWS }).then(
        ({ rows, next }) => {
          if (latestRequest.current !== request) return;
          const all = [...from.rows, ...rows];
          const over = Math.max(0, all.length - MAX_ROWS);
          const kept = over > 0 ? all.slice(over) : all;
          const ended = next === undefined;
          setState({
            rows: kept,
            skipped: from.skipped + over,
            next,
            pending: false,
            error: undefined,
            ended,
          });
        },
        (error) => {
          if (latestRequest.current !== request) return;
          handleUnauthorized(error);
          setState({ ...from, pending: false, error });
        },
      );
    },
    [current, ...on],
  );
  const first = useCallback(() => load({ ...empty, rows: [] }), [load]);
  useEffect(() => {
    first();
    return () => {
      latestRequest.current++;
    };
  }, [first]);
  const more = useCallback(() => {
    const { pending, ended } = latest.current;
    if (!pending && !ended) load(latest.current);
  }, [load]);
  return { ...state, more, first };
}
