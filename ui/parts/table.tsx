import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { count } from '../../src/base/format.ts';
import type { Paged } from '../session/paging.ts';
import { ForeignText } from './foreign-text.tsx';
import { Empty, Failure, Pending } from './notices.tsx';
import { useVirtualRows } from './virtual-rows.tsx';

export interface Column<T> {
  readonly title: string;
  /** Width of the column, as in `grid-template-columns`. */
  readonly width: string;
  readonly cell: (row: T) => ComponentChildren;
  /** True if the column is hidden on narrow screens. */
  readonly wide?: boolean;
  /** True if only screen readers get the title, because the buttons in the column explain themselves. */
  readonly bare?: boolean;
  /** True if the column contains figures, which are right-aligned. */
  readonly figure?: boolean;
}

/** A column with text that agents wrote. */
export const textColumn = <T,>(title: string, width: string, textOf: (row: T) => string): Column<T> => ({
  title,
  width,
  cell: (row) => <ForeignText text={textOf(row)} max={80} />,
  wide: true,
});

/** The main column, with a link to the page of each row. */
export const linkColumn = <T,>(
  title: string,
  hrefOf: (row: T) => string,
  textOf: (row: T) => ComponentChildren,
): Column<T> => ({
  title,
  width: 'minmax(0, 1fr)',
  cell: (row) => {
    const text = textOf(row);
    return (
      <a class="row-link one-line" href={hrefOf(row)}>
        {typeof text === 'string' ? <ForeignText text={text} max={200} /> : text}
      </a>
    );
  },
});

/** Rows that the person has selected, by key. */
export interface Selection<T> {
  readonly rows: ReadonlyMap<string, T>;
  /** Returns what a screen reader says about a row. Null for a row that cannot be selected. */
  readonly nameOf: (row: T) => string | null;
  readonly set: (key: string, row: T, on: boolean) => void;
  readonly clear: () => void;
}

export function useSelection<T>(nameOf: Selection<T>['nameOf']): Selection<T> {
  const [rows, setRows] = useState<ReadonlyMap<string, T>>(new Map());
  return {
    rows,
    nameOf,
    set: (key, row, on) =>
      setRows((before) => {
        const after = new Map(before);
        if (on) after.set(key, row);
        else after.delete(key);
        return after;
      }),
    clear: () => setRows(new Map()),
  };
}

const selectColumn = <T,>({ rows, nameOf, set }: Selection<T>, keyOf: (row: T) => string): Column<T> => ({
  title: 'Select',
  bare: true,
  width: '18px',
  cell: (row) => {
    const name = nameOf(row);
    return (
      name !== null && (
        <input
          type="checkbox"
          aria-label={`Select ${name}`}
          checked={rows.has(keyOf(row))}
          onChange={(event) => set(keyOf(row), row, event.currentTarget.checked)}
        />
      )
    );
  },
});

interface Props<T> {
  /** Label of the table: what it lists. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly rowHeight?: number;
  /**
   * Called when the last rows are visible or almost visible. While these rows stay visible, each scroll and each
   * change of the rows calls it again.
   */
  readonly onEnd?: () => void;
  readonly chosen?: (row: T) => boolean;
  /** Adds a column of checkboxes. */
  readonly selection?: Selection<T> | false;
  /** Number of rows that were dropped from memory, above the first row of `rows`. */
  readonly skipped?: number;
  /** Word for a row, such as `task`. It is used in the message that no row matches the filters. */
  readonly what?: string;
}

const NoMatch = ({ what }: { what: string }) => <Empty title={`No ${what} matches these filters.`} />;

const ROW_HEIGHT = 40;
/** Further rows are loaded when at most this many rows are left below the visible ones. */
const ROWS_AHEAD = 8;

/** A table of any length. Only the visible rows are in the DOM. */
export function Table<T>(o: Props<T>) {
  const { rows, selection, rowHeight = ROW_HEIGHT, skipped = 0 } = o;
  const columns = selection ? [selectColumn(selection, o.keyOf), ...o.columns] : o.columns;
  const isChosen = selection ? (row: T) => selection.rows.has(o.keyOf(row)) : o.chosen;
  const virtual = useVirtualRows(rows.length, rowHeight);
  // Read the scroll position from the element: the virtual list copies it only once per frame. Within one frame, a
  // person may scroll and the layout effect below may scroll back.
  const checkEnd = () => {
    const body = virtual.scroller.current;
    if (!o.onEnd || !body?.clientHeight) return;
    const below = body.scrollHeight - body.clientHeight - body.scrollTop;
    if (below <= ROWS_AHEAD * rowHeight) o.onEnd();
  };
  useEffect(checkEnd, [virtual.items.at(-1)?.index, rows]);
  // When rows above are dropped, keep the visible rows in place. Otherwise the end of the list would stay
  // visible, and the list would load rows until there are no more.
  const before = useRef(skipped);
  useLayoutEffect(() => {
    const gone = skipped - before.current;
    before.current = skipped;
    const body = virtual.scroller.current;
    if (body && gone !== 0) body.scrollTop = gone > 0 ? body.scrollTop - gone * rowHeight : 0;
  }, [skipped]);
  if (o.what && rows.length === 0) return <NoMatch what={o.what} />;
  const grid = { '--columns': columns.map(({ width }) => width).join(' ') };
  const narrow = {
    '--narrow-columns': columns
      .filter(({ wide }) => !wide)
      .map(({ width }) => width)
      .join(' '),
  };
  return (
    <div
      class="table"
      role="table"
      aria-label={o.label}
      aria-rowcount={rows.length + skipped + 1}
      style={{ ...grid, ...narrow }}
    >
      <div role="rowgroup" class="table-head">
        <div role="row" class="table-row" aria-rowindex={1}>
          {columns.map((column) => (
            <div key={column.title} role="columnheader" class={classOf(column)}>
              {column.bare ? <span class="unseen">{column.title}</span> : column.title}
            </div>
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        class="table-body"
        ref={virtual.scroller}
        tabIndex={0}
        aria-label={o.label}
        onScroll={checkEnd}
      >
        <div class="table-space" style={{ height: `${virtual.height}px` }} role="presentation">
          {virtual.items.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <div
                key={o.keyOf(row)}
                role="row"
                aria-rowindex={index + skipped + 2}
                class={isChosen?.(row) ? 'table-row chosen' : 'table-row'}
                style={{ transform: `translateY(${start}px)`, height: `${rowHeight}px` }}
              >
                {columns.map((column) => (
                  <div key={column.title} role="cell" class={classOf(column)}>
                    {column.cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function classOf({ wide, figure }: Column<never>): string {
  return `cell${wide ? ' wide' : ''}${figure ? ' figure' : ''}`;
}

/** A table of a paged list, with a text for an empty list. `filtered` is true if a filter is set. */
export function PagedTable<T>({
  paged,
  empty,
  filtered = false,
  what = 'row',
  ...o
}: Omit<Props<T>, 'rows' | 'onEnd' | 'skipped'> & {
  paged: Paged<T>;
  empty: ComponentChildren;
  filtered?: boolean;
}) {
  const { rows, pending, error, ended, skipped } = paged;
  if (rows.length === 0) {
    if (error !== undefined) return <Failure error={error} again={paged.first} />;
    return pending && !ended ? <Pending /> : filtered ? <NoMatch what={what} /> : empty;
  }
  return (
    <>
      {skipped > 0 && (
        <p class="bar">
          <span>{count(skipped)} earlier rows were removed from this page.</span>
          <button type="button" class="button" onClick={paged.first}>
            Back to the start
          </button>
        </p>
      )}
      <Table {...o} rows={rows} skipped={skipped} onEnd={paged.more} />
      <p class="table-foot soft" role="status">
        {error !== undefined
          ? ''
          : pending
            ? 'Loading more…'
            : ended
              ? `${count(rows.length + skipped)} in total`
              : 'Scroll for more'}
      </p>
      <Failure error={error} again={paged.more} />
    </>
  );
}
