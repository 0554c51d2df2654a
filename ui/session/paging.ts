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
  /** Starts again from the beginning. The rows stay until the answer arrives. */
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
  const latestRequest = useRef(0);
  const reader = useRef(read);
  reader.current = read;
  const current = relay.value;

  const load = useCallback(
    (from: PagingState<T>, shown = from) => {
      const request = ++latestRequest.current;
      const set = (now: PagingState<T>) => {
        // Before the next render, a second call must see that a page is loading.
        latest.current = now;
        setState(now);
      };
      set({ ...shown, pending: true, error: undefined });
      reader.current(current, { after: from.next, limit: PAGE_ROWS }).then(
        ({ rows, next }) => {
          if (latestRequest.current !== request) return;
          // A filter may leave nothing of a page.
          if (rows.length === 0 && next !== undefined) return load({ ...from, next }, shown);
          const all = [...from.rows, ...rows];
          const over = Math.max(0, all.length - MAX_ROWS);
          set({
            rows: over > 0 ? all.slice(over) : all,
            skipped: from.skipped + over,
            next,
            pending: false,
            error: undefined,
            ended: next === undefined,
          });
        },
        (error) => {
          if (latestRequest.current !== request) return;
          handleUnauthorized(error);
          set({ ...shown, pending: false, error });
        },
      );
    },
    [current, ...on],
  );
  const first = useCallback(() => load(empty, latest.current), [load]);
  useEffect(() => {
    load(empty);
    return () => {
      latestRequest.current++;
    };
  }, [load]);
  const more = useCallback(() => {
    const { pending, ended } = latest.current;
    if (!pending && !ended) load(latest.current);
  }, [load]);
  return { ...state, more, first };
}
