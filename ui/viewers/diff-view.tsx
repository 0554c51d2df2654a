import { useMemo, useState } from 'preact/hooks';
import { plural } from '../../src/base/format.ts';
import { type DiffLine, diffLines } from '../../src/text/line-diff.ts';
import { VirtualList } from '../parts/virtual-rows.tsx';
import { revealHidden } from './reveal-hidden.ts';

/** Number of unchanged lines displayed around each difference. */
const CONTEXT_LINES = 3;

type Row = DiffLine | { readonly kind: 'left out'; readonly text: string };

const LOOKS: { readonly [K in Row['kind']]: { readonly tone: string; readonly mark: string } } = {
  added: { tone: 'diff-added', mark: '+' },
  removed: { tone: 'diff-removed', mark: '−' },
  same: { tone: '', mark: ' ' },
  'left out': { tone: 'diff-place', mark: '⋯' },
};

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
        <VirtualList
          label={label}
          class="text-lines wrap"
          rows={rows}
          rowHeight={22}
          rowClass={({ kind }) => `text-line ${LOOKS[kind].tone}`}
        >
          {({ kind, text }) => (
            <>
              <span class="diff-mark" aria-hidden="true">
                {LOOKS[kind].mark}
              </span>
              {kind === 'added' && <ins class="unseen">added: </ins>}
              {kind === 'removed' && <del class="unseen">removed: </del>}
              <code>{revealHidden(text)}</code>
            </>
          )}
        </VirtualList>
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
        text: plural(skipped, 'unchanged line'),
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
