import { useEffect, useRef, useState } from 'preact/hooks';
import { query, setParam } from '../frame/router.ts';

/**
 * Returns the value of a filter and a function that sets it. The value is in the address of the page, so that a
 * filtered list can be linked and reloaded.
 */
export function useParam(name: string): [value: string, set: (value: string) => void] {
  return [query.value.get(name) ?? '', (value) => setParam(name, value)];
}

/** Returns the values of filters from the address of the page. */
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

/** A select box for a range of time that ends now. */
export function TimeFilter() {
  return <SelectFilter label="Time" param="time" options={TIME_RANGES} />;
}

/** A select box. `options` are values with labels. */
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

/** A row of buttons. Exactly one of them is pressed. */
export function Switch<T extends string>(o: {
  label: string;
  value: T;
  set: (value: T) => void;
  options: { readonly [value in T]: string };
}) {
  return (
    <div class="switch" role="group" aria-label={o.label}>
      {Object.entries<string>(o.options).map(([value, title]) => (
        <button key={value} type="button" aria-pressed={value === o.value} onClick={() => o.set(value as T)}>
          {title}
        </button>
      ))}
    </div>
  );
}

/**
 * A text field with its label. The other attributes are spread as an object, because the JSX types have no
 * common type for all inputs.
 */
export function Field({
  label,
  set,
  grow = false,
  ...o
}: {
  label: string;
  value: string;
  set: (value: string) => void;
  type?: 'text' | 'search' | 'password';
  class?: string;
  placeholder?: string;
  autocomplete?: 'off';
  spellcheck?: boolean;
  maxLength?: number;
  required?: boolean;
  grow?: boolean;
}) {
  return (
    <label class={grow ? 'field grow' : 'field'}>
      <span>{label}</span>
      <input {...(o as object)} onInput={(event) => set(event.currentTarget.value)} />
    </label>
  );
}

/** A required text of several lines, with its label. */
export function TextArea({
  label,
  set,
  ...o
}: {
  label: string;
  value: string;
  set: (value: string) => void;
  class?: string;
  rows?: number;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <textarea required {...o} onInput={(event) => set(event.currentTarget.value)} />
    </label>
  );
}

/** Returns a submit handler that runs `act` without leaving the page. */
export function onSubmit(act: () => unknown): (event: Event) => void {
  return (event) => {
    event.preventDefault();
    void act();
  };
}

/** A select box whose value is in the address of the page. The empty value stands for everything. */
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

/**
 * A select box with the distinct `values` of a list, such as the agents of tasks. `all` is the label of the
 * option for everything.
 */
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

/** A text field that filters when the person stops typing, because each change of a filter sends a request. */
export function TextFilter(o: { label: string; param: string; grow?: boolean }) {
  const [value, set] = useParam(o.param);
  // Show the text as typed, including a space at its end. Replace it only if the address changes otherwise, for
  // example because the person goes back.
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
