import { useMemo, useState } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { useVirtualRows } from '../parts/virtual-rows.tsx';
import { revealHidden } from './reveal-hidden.ts';

interface Row {
  readonly path: string;
  readonly depth: number;
  readonly name: string | null;
  readonly value: unknown;
  /** Number of children; null for a value without children. */
  readonly size: number | null;
}

const ROW_HEIGHT = 22;
/** Depth below which nodes are closed at first. */
const OPEN_DEPTH = 5;
/** Number of children above which a node is closed at first. */
const OPEN_SIZE = 100;
const VALUE_CHARS = 2_000;

/** A collapsible JSON tree. Only the visible nodes are in the DOM. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  // Nodes that are not in their initial state (open or closed), because the person has clicked them.
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => [...rowsOf(value, toggled)], [value, toggled]);
  const virtual = useVirtualRows(rows.length, ROW_HEIGHT);
  const toggle = (path: string) => {
    const next = new Set(toggled);
    if (!next.delete(path)) next.add(path);
    setToggled(next);
  };
  return (
    <div class="json-view" ref={virtual.scroller} tabIndex={0} role="region" aria-label={label}>
      <div class="text-space" style={{ height: `${virtual.height}px` }}>
        {virtual.items.map(({ index, start }) => {
          const row = rows[index];
          if (!row) return null;
          const open = isOpen(row, toggled);
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
                  onClick={() => toggle(row.path)}
                >
                  <Icon name="chevron" />
                </button>
              ) : (
                <span class="json-turn" />
              )}
              {row.name !== null && <span class="json-name">{revealHidden(row.name)}: </span>}
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
    const preview = revealHidden(value.slice(0, VALUE_CHARS)).replace(/\r?\n/g, '↵');
    return <span class="json-string">{`"${preview}"${value.length > VALUE_CHARS ? ' …' : ''}`}</span>;
  }
  return <span class="json-literal">{String(value)}</span>;
}

function isOpen({ depth, size, path }: Row, toggled: ReadonlySet<string>): boolean {
  const atFirst = depth < OPEN_DEPTH && (size ?? 0) <= OPEN_SIZE;
  return toggled.has(path) ? !atFirst : atFirst;
}

function* rowsOf(
  value: unknown,
  toggled: ReadonlySet<string>,
  name: string | null = null,
  path = '',
  depth = 0,
): Generator<Row> {
  const isContainer = typeof value === 'object' && value !== null;
  const entries = isContainer ? Object.entries(value) : [];
  const row: Row = { path, depth, name, value, size: isContainer ? entries.length : null };
  yield row;
  if (!isContainer || !isOpen(row, toggled)) return;
  for (const [key, inner] of entries) yield* rowsOf(inner, toggled, key, `${path}/${key}`, depth + 1);
}
