import { useMemo } from 'preact/hooks';
import { plural } from '../../src/base/format.ts';
import { useVirtualRows } from '../parts/virtual-rows.tsx';
import { csvRows, separatorOf } from './csv.ts';
import { revealHidden } from './reveal-hidden.ts';

const ROW_HEIGHT = 30;
const MAX_COLUMNS = 60;
const CELL_CHARS = 300;

/** Displays CSV as rows and columns of text. Formulas are not evaluated. */
export function CsvView({ text, label }: { text: string; label: string }) {
  const [head = [], ...rows] = useMemo(() => csvRows(text, separatorOf(text)), [text]);
  const virtual = useVirtualRows(rows.length, ROW_HEIGHT);
  const columns = head.slice(0, MAX_COLUMNS);
  // Each row is its own grid, so columns align only if their widths do not depend on the content.
  const amount = Math.max(columns.length, 1);
  const style = { '--csv-columns': `repeat(${amount}, minmax(0, 1fr))`, '--csv-amount': amount };
  return (
    <>
      <div
        class="csv-view"
        ref={virtual.scroller}
        tabIndex={0}
        role="table"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        style={style}
      >
        <div role="rowgroup" class="csv-head">
          <div role="row" class="csv-row">
            {columns.map((name, at) => (
              <div key={at} role="columnheader">
                {revealHidden(name)}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" class="text-space" style={{ height: `${virtual.height}px` }}>
          {virtual.items.map(({ index, start }) => (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              class="csv-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              {columns.map((_, at) => (
                <div key={at} role="cell">
                  {revealHidden((rows[index]?.[at] ?? '').slice(0, CELL_CHARS))}
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
      <p class="soft small">
        {plural(rows.length, 'row')}
        {head.length > MAX_COLUMNS && `, the first ${MAX_COLUMNS} of ${head.length} columns`}
      </p>
    </>
  );
}
