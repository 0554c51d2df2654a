import { useMemo, useState } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { useVirtualRows } from '../parts/virtual.ts';
import { visible } from './visible.ts';

interface Row {
  readonly path: string;
  readonly depth: number;
  readonly name: string | null;
  readonly value: unknown;
  /** Number of children; null for a value without children. */
  readonly size: number | null;
}

const ROW_HEIGHT = 22;
/** Deeper nodes are closed at first. */
const OPEN_DEPTH = 5;
/** Nodes with more children are closed at first. */
const OPEN_SIZE = 100;
const VALUE_CHARS = 2_000;

/** A collapsible JSON tree; only visible nodes are in the page. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  // Nodes that differ from their initial open or closed state.
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => [...rowsOf(value, turned)], [value, turned]);
  const virtual = useVirtualRows(rows.length, ROW_HEIGHT);
  const turn = (path: string) => {
    const next = new Set(turned);
    if (!next.delete(path)) next.add(path);
    setTurned(next);
  };
  return (
    <div class="json-view" ref={virtual.scroller} tabIndex={0} role="region" aria-label={label}>
      <div class="text-space" style={{ height: `${virtual.height}px` }}>
        {virtual.items.map(({ index, start }) => {
          const row = rows[index];
          if (!row) return null;
          const open = isOpen(row, turned);
          return (
            <div
              key={row.path}
              class="json-row"
              style={{ transform: `translateY(${start}px)`, paddingLeft: `${row.depth * 18 + 4}px` }}
            >
              {row.size ? (
                <button
                  type="button"
                  class={open ? 'json-turn open' : 'json-turn'}
                  aria-expanded={open}
                  aria-label={`${open ? 'Collapse' : 'Expand'} ${row.name ?? 'everything'}`}
                  onClick={() => turn(row.path)}
                >
                  <Icon name="chevron" />
                </button>
              ) : (
                <span class="json-turn" />
              )}
              {row.name !== null && <span class="json-name">{visible(row.name)}: </span>}
              <JsonValue row={row} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function JsonValue({ row: { value, size } }: { row: Row }) {
  if (size !== null) {
    const [before, after] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
    return <span class="soft">{`${before}${size === 0 ? '' : ` ${size} `}${after}`}</span>;
  }
  if (typeof value === 'string') {
    const shown = visible(value.slice(0, VALUE_CHARS)).replace(/\r?\n/g, '↵');
    return <span class="json-string">{`"${shown}"${value.length > VALUE_CHARS ? ' …' : ''}`}</span>;
  }
  return <span class="json-literal">{String(value)}</span>;
}

function isOpen({ depth, size, path }: Row, turned: ReadonlySet<string>): boolean {
  const atFirst = depth < OPEN_DEPTH && (size ?? 0) <= OPEN_SIZE;
  return turned.has(path) ? !atFirst : atFirst;
}

function* rowsOf(
  value: unknown,
  turned: ReadonlySet<string>,
  name: string | null = null,
  path = '',
  depth = 0,
): Generator<Row> {
  const holds = typeof value === 'object' && value !== null;
  const entries = holds ? Object.entries(value) : [];
  const row: Row = { path, depth, name, value, size: holds ? entries.length : null };
  yield row;
  if (!holds || !isOpen(row, turned)) return;
  for (const [key, inner] of entries) yield* rowsOf(inner, turned, key, `${path}/${key}`, depth + 1);
}
