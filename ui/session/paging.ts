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

interface Held<T> {
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
  const empty: Held<T> = {
    rows: [],
    skipped: 0,
    next: undefined,
    pending: true,
    error: undefined,
    ended: false,
  };
  const [held, setHeld] = useState(empty);
  const latest = useRef(held);
  latest.current = held;
  const turn = useRef(0);
  const reader = useRef(read);
  reader.current = read;
  const current = relay.value;

  const load = useCallback(
    (from: Held<T>) => {
      const mine = ++turn.current;
      setHeld({ ...from, pending: true, error: undefined });
      reader.current(current, { after: from.next, limit: PAGE_ROWS }).then(
        ({ rows, next }) => {
          if (turn.current !== mine) return;
          const all = [...from.rows, ...rows];
          const over = Math.max(0, all.length - MAX_ROWS);
          const kept = over > 0 ? all.slice(over) : all;
          const ended = next === undefined;
          setHeld({
            rows: kept,
            skipped: from.skipped + over,
            next,
            pending: false,
            error: undefined,
            ended,
          });
        },
        (error) => {
          if (turn.current !== mine) return;
          handleUnauthorized(error);
          setHeld({ ...from, pending: false, error });
        },
      );
    },
    [current, ...on],
  );
  const first = useCallback(() => load({ ...empty, rows: [] }), [load]);
  useEffect(() => {
    first();
    return () => {
      turn.current++;
    };
  }, [first]);
  const more = useCallback(() => {
    const { pending, ended } = latest.current;
    if (!pending && !ended) load(latest.current);
  }, [load]);
  return { ...held, more, first };
}
