import { useEffect, useMemo, useState } from 'preact/hooks';
import { plural } from '../../src/base/format.ts';
import { useVirtualRows } from '../parts/virtual-rows.tsx';
import type { Highlighted } from './highlight.ts';
import { revealHidden } from './reveal-hidden.ts';

const LINE_HEIGHT = 20;
/** Maximum length of a line on the page. A longer line is cut, but the download has all of it. */
const LINE_CHARS = 4_000;
/** Maximum length of a text that is highlighted. Highlighting a longer text would be noticeably slow. */
const HIGHLIGHT_CHARS = 300_000;

interface Props {
  readonly text: string;
  readonly label: string;
  /** Language for highlighting. Null or undefined for plain text. */
  readonly language?: string | null;
  readonly lineClass?: (line: string) => string;
}

/** Displays text of any length with line numbers and a search. */
export function TextView({ text, label, language, lineClass }: Props) {
  const lines = useMemo(() => revealHidden(text).split(/\r\n|\n|\r/), [text]);
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const matches = useMemo(() => findMatches(lines, query), [lines, query]);
  const highlighted = useHighlight(text, language ?? null);
  const virtual = useVirtualRows(lines.length, LINE_HEIGHT);
  const current = matches.length > 0 ? matches[at % matches.length] : undefined;
  useEffect(() => {
    if (current !== undefined) virtual.toRow(current);
  }, [current]);
  const step = (by: number) => setAt((n) => (n + by + matches.length) % Math.max(matches.length, 1));
  const digits = String(lines.length).length;
  return (
    <div class="text-view">
      <div class="text-search" role="search">
        <input
          type="search"
          placeholder="Search this text"
          aria-label="Search this text"
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={(event) => event.key === 'Enter' && step(event.shiftKey ? -1 : 1)}
        />
        <span class="soft small" role="status">
          {query === ''
            ? plural(lines.length, 'line')
            : `${matches.length > 0 ? at + 1 : 0} of ${matches.length} lines`}
        </span>
        {query !== '' && (
          <>
            <button type="button" class="button" onClick={() => step(-1)} disabled={matches.length === 0}>
              Previous
            </button>
            <button type="button" class="button" onClick={() => step(1)} disabled={matches.length === 0}>
              Next
            </button>
          </>
        )}
      </div>
      <div class="text-lines" ref={virtual.scroller} tabIndex={0} role="region" aria-label={label}>
        <div class="text-space" style={{ height: `${virtual.height}px` }}>
          {virtual.items.map(({ index, start }) => {
            const line = lines[index] ?? '';
            const tone = lineClass?.(line) ?? '';
            return (
              <div
                key={index}
                class={`text-line ${tone}${index === current ? ' current' : ''}`}
                style={{ transform: `translateY(${start}px)` }}
              >
                <span class="line-number" style={{ minWidth: `${digits + 1}ch` }} aria-hidden="true">
                  {index + 1}
                </span>
                <code>{renderLine(line, highlighted?.[index], query)}</code>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function findMatches(lines: readonly string[], query: string): number[] {
  if (query === '') return [];
  const low = query.toLowerCase();
  return lines.flatMap((line, index) => (line.toLowerCase().includes(low) ? [index] : []));
}

function renderLine(line: string, tokens: Highlighted[number] | undefined, query: string) {
  const cut = line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)} …` : line;
  if (query !== '') return markMatches(cut, query);
  if (!tokens || line.length > LINE_CHARS) return cut;
  return tokens.map(({ text, kind }, index) =>
    kind ? (
      <span key={index} class={`tok-${kind}`}>
        {text}
      </span>
    ) : (
      text
    ),
  );
}

function markMatches(line: string, query: string) {
  const parts = [];
  const low = line.toLowerCase();
  let from = 0;
  for (
    let at = low.indexOf(query.toLowerCase());
    at >= 0 && parts.length < 200;
    at = low.indexOf(query.toLowerCase(), from)
  ) {
    parts.push(line.slice(from, at), <mark key={at}>{line.slice(at, at + query.length)}</mark>);
    from = at + query.length;
  }
  return [...parts, line.slice(from)];
}

function useHighlight(text: string, language: string | null): Highlighted | null {
  const [lines, setLines] = useState<Highlighted | null>(null);
  useEffect(() => {
    setLines(null);
    if (language === null || text.length > HIGHLIGHT_CHARS) return;
    let over = false;
    import('./highlight.ts')
      .then(({ highlight }) => highlight(revealHidden(text), language))
      .then((found) => !over && setLines(found))
      // Ignore errors of highlighting: the plain text is displayed.
      .catch(() => {});
    return () => {
      over = true;
    };
  }, [text, language]);
  return lines;
}
