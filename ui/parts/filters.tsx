import { useEffect, useRef, useState } from 'preact/hooks';
import { query, setParam } from '../frame/router.ts';
import type { Page } from '../session/paging.ts';

/** A filter in the address of the page, so that a filtered list can be linked and reloaded. */
export function useParam(name: string): [value: string, set: (value: string) => void] {
  return [query.value.get(name) ?? '', (value) => setParam(name, value)];
}

/** Reads filters of the address. */
export function readParams<N extends readonly string[]>(...names: N): { [K in keyof N]: string } {
  return names.map((name) => query.value.get(name) ?? '') as { [K in keyof N]: string };
}

const TIME_RANGES = {
  '': 'any time',
  hour: 'last hour',
  day: 'last 24 hours',
  week: 'last 7 days',
  month: 'last 30 days',
} as const;
const RANGE_MS: { readonly [range: string]: number } = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
  month: 2_592_000_000,
};

/** Returns whether a time is within a range of `TimeFilter`. */
export function isWithin(range: string, at: string | number | null): boolean {
  const ms = RANGE_MS[range];
  return ms === undefined || (at !== null && new Date(at).getTime() >= Date.now() - ms);
}

/** A selection of a range of time that ends now. */
export function TimeFilter() {
  return <SelectFilter label="Time" param="time" options={TIME_RANGES} />;
}

/** A selection of one value. `options` are values with labels. */
export function Select(o: {
  label: string;
  value: string;
  set: (value: string) => void;
  options: readonly (readonly [value: string, label: string])[];
}) {
  return (
    <label class="field">
      <span>{o.label}</span>
      <select value={o.value} onChange={(event) => o.set(event.currentTarget.value)}>
        {o.options.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A selection in the address of the page. The empty value selects everything. */
export function SelectFilter(o: {
  label: string;
  param: string;
  fallback?: string;
  options: { readonly [value: string]: string };
}) {
  const [value, set] = useParam(o.param);
  const options = Object.entries(o.options);
  return <Select label={o.label} value={value || (o.fallback ?? '')} set={set} options={options} />;
}

/** A selection of one of the distinct `values` of a list, such as the agents of tasks. `all` selects everything. */
export function ValueFilter({
  all = 'any',
  values,
  labelOf = (value) => value,
  ...o
}: {
  label: string;
  param: string;
  all?: string;
  values: readonly (string | null | undefined)[];
  labelOf?: (value: string) => string;
}) {
  const distinct = [...new Set([...values, ...readParams(o.param)])].filter(Boolean).sort() as string[];
  const labels = distinct.map((value) => [value, labelOf(value)]);
  return <SelectFilter {...o} options={{ '': all, ...Object.fromEntries(labels) }} />;
}

/** A text field that filters when the person stops typing, because each change sends a request. */
export function TextFilter(o: { label: string; param: string; grow?: boolean }) {
  const [value, set] = useParam(o.param);
  // The text stays as typed, also with a space at its end, until something else changes the address.
  const [draft, setDraft] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    if (value !== sent.current) setDraft(value);
    sent.current = value;
  }, [value]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  return (
    <label class={o.grow ? 'field grow' : 'field'}>
      <span>{o.label}</span>
      <input
        type="search"
        value={draft}
        onInput={({ currentTarget: { value: text } }) => {
          setDraft(text);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => {
            sent.current = text.trim();
            set(sent.current);
          }, 250);
        }}
      />
    </label>
  );
}

const ROWS_WANTED = 50;
const PAGES_AT_ONCE = 10;

/**
 * Reads pages until enough rows match. `isPast` says that no later row can match, because the list is ordered by time.
 * Without this, a page whose rows all fail the filter would look like an empty list.
 */
export async function readMatching<T>(
  read: (after: string | undefined) => Promise<Page<T>>,
  after: string | undefined,
  matches: (row: T) => boolean,
  isPast: (row: T) => boolean = () => false,
): Promise<Page<T>> {
  const rows: T[] = [];
  let next = after;
  for (let pages = 0; pages < PAGES_AT_ONCE; pages++) {
    const page = await read(next);
    rows.push(...page.rows.filter(matches));
    next = page.next;
    const last = page.rows.at(-1);
    if (last !== undefined && isPast(last)) return { rows };
    if (next === undefined || rows.length >= ROWS_WANTED) break;
  }
  return { rows, ...(next === undefined ? {} : { next }) };
}
