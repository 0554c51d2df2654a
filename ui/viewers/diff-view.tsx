import { useMemo, useState } from 'preact/hooks';
import { type DiffLine, diffLines } from '../../src/text/line-diff.ts';
import { useVirtualRows } from '../parts/virtual-rows.ts';
import { revealHidden } from './reveal-hidden.ts';

const ROW_HEIGHT = 22;
/** Number of unchanged lines displayed around each difference. */
const CONTEXT_LINES = 3;

type Row = DiffLine | { readonly kind: 'left out'; readonly text: string };

/** Displays the difference of two lists of lines. */
export function DiffView({
  from,
  to,
  label,
}: {
  from: readonly string[];
  to: readonly string[];
  label: string;
}) {
  const [showAll, setShowAll] = useState(false);
  const lines = useMemo(() => diffLines(from, to), [from, to]);
  const rows = useMemo<readonly Row[]>(() => (showAll ? lines : collapseUnchanged(lines)), [lines, showAll]);
  const virtual = useVirtualRows(rows.length, ROW_HEIGHT);
  const amount = (kind: Row['kind']) => lines.filter((line) => line.kind === kind).length;
  const [added, removed] = [amount('added'), amount('removed')];
  return (
    <div class="diff">
      <div class="bar">
        <strong>{label}</strong>
        <span class="soft">
          {added + removed === 0 ? 'no differences' : `${added} added, ${removed} removed`}
        </span>
        <label class="check">
          <input
            type="checkbox"
            checked={showAll}
            onChange={(event) => setShowAll(event.currentTarget.checked)}
          />
          <span>Show unchanged lines</span>
        </label>
      </div>
      {rows.length > 0 && (
        <div class="text-lines wrap" ref={virtual.scroller} tabIndex={0} role="region" aria-label={label}>
          <div class="text-space" style={{ height: `${virtual.height}px` }}>
            {virtual.items.map(({ index, start }) => {
              const row = rows[index];
              if (!row) return null;
              const tone = {
                added: 'diff-added',
                removed: 'diff-removed',
                same: '',
                'left out': 'diff-place',
              }[row.kind];
              const mark = { added: '+', removed: '−', same: ' ', 'left out': '⋯' }[row.kind];
              return (
                <div
                  key={index}
                  data-index={index}
                  ref={virtual.measure}
                  class={`text-line ${tone}`}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <span class="diff-mark" aria-hidden="true">
                    {mark}
                  </span>
                  {row.kind === 'added' && <ins class="unseen">added: </ins>}
                  {row.kind === 'removed' && <del class="unseen">removed: </del>}
                  <code>{revealHidden(row.text)}</code>
                </div>
              );
            })}
          </div>
        </div>
      )}
    </div>
  );
}

function collapseUnchanged(lines: readonly DiffLine[]): Row[] {
  const near = new Set<number>();
  lines.forEach(({ kind }, at) => {
    if (kind !== 'same') for (let by = -CONTEXT_LINES; by <= CONTEXT_LINES; by++) near.add(at + by);
  });
  const rows: Row[] = [];
  let skipped = 0;
  const pushSkipped = () => {
    if (skipped > 0)
      rows.push({
        kind: 'left out',
        text: skipped === 1 ? '1 unchanged line' : `${skipped} unchanged lines`,
      });
    skipped = 0;
  };
  lines.forEach((line, at) => {
    if (!near.has(at)) skipped++;
    else {
      pushSkipped();
      rows.push(line);
    }
  });
  pushSkipped();
  return rows;
}
