import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { plural } from '../../src/base/format.ts';
import { Dialog } from '../parts/dialog.tsx';
import { ForeignText } from '../parts/foreign-text.tsx';
import { Icon } from '../parts/icons.tsx';
import { type Found, type FoundGroup, finder } from '../session/find.ts';
import { relay } from '../session/session.ts';
import { navigate } from './router.ts';

/** Name of the dialog that is open above the page; null if none is open. */
const opened = signal<'search' | 'keys' | null>(null);

const WAIT_MS = 120;

const KEYS: readonly (readonly [keys: readonly string[], about: string])[] = [
  [['/'], 'Search'],
  [['Ctrl', 'K'], 'Search, also while you type in a field (⌘ K on a Mac)'],
  [['↑', '↓'], 'Choose a result of the search'],
  [['Enter'], 'Open the chosen result'],
  [['←', '→'], 'Go to the previous or next tab, when a tab has the focus'],
  [['Esc'], 'Close a dialog'],
  [['?'], 'Show these keys'],
];

/** Opens the dialogs by keys: `/`, Ctrl-K and `?`. */
function useShortcuts(): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target as Element | null;
      const types = target?.closest('input, textarea, select, [contenteditable]') != null;
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
      const request =
        event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
          ? 'search'
          : types || !isPlain || opened.value !== null
            ? null
            : ({ '/': 'search', '?': 'keys' } as const)[event.key];
      if (!request) return;
      event.preventDefault();
      opened.value = request;
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

/** The search button, and the dialogs that shortcuts open. */
export function Search() {
  useShortcuts();
  const close = () => {
    opened.value = null;
  };
  return (
    <>
      <button
        type="button"
        class="search-button"
        onClick={() => {
          opened.value = 'search';
        }}
      >
        <Icon name="search" />
        <span>Search</span>
        <span class="kbd" aria-hidden="true">
          /
        </span>
      </button>
      {opened.value === 'search' && (
        <Dialog title="Search" onClose={close} wide>
          <SearchForm close={close} />
        </Dialog>
      )}
      {opened.value === 'keys' && (
        <Dialog title="Keys" onClose={close}>
          <dl class="dialog-body key-list">
            {KEYS.map(([keys, about]) => (
              <div key={about}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{about}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}

/**
 * Returns the attributes of the search field. They are spread as an object, because the JSX types accept the role
 * `combobox` only together with `list`.
 */
function comboboxProps(active: string | undefined): object {
  const aria = {
    'aria-expanded': active !== undefined,
    'aria-controls': 'found',
    'aria-activedescendant': active,
  };
  return { type: 'text', role: 'combobox', ...aria };
}

function SearchForm({ close }: { close: () => void }) {
  const [text, setText] = useState('');
  const { groups, pending } = useFound(text.trim());
  const [chosen, setChosen] = useState(0);
  useEffect(() => setChosen(0), [text]);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const all = groups.flatMap(([, found]) => found);
  const open = (found: Found | undefined) => {
    if (!found) return;
    close();
    navigate(found.href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && all.length > 0) {
      event.preventDefault();
      const next = (chosen + step + all.length) % all.length;
      setChosen(next);
      document.getElementById(`found-${next}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') {
      event.preventDefault();
      open(all[chosen]);
    }
  };
  let at = 0;
  return (
    <div class="search">
      <input
        ref={field}
        {...comboboxProps(all.length > 0 ? `found-${chosen}` : undefined)}
        aria-label="Search"
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        placeholder="Words, a handle such as relay:128, or an id"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div id="found" role="listbox" aria-label="Results" class="found">
        {groups.map(([name, found]) => (
          <div key={name} role="group" aria-label={name}>
            <p class="found-group" aria-hidden="true">
              {name}
            </p>
            {found.map((one) => {
              const index = at++;
              return (
                <a
                  key={one.href}
                  id={`found-${index}`}
                  role="option"
                  aria-selected={index === chosen}
                  class="found-row"
                  onMouseMove={() => setChosen(index)}
                  href={one.href}
                  tabIndex={-1}
                  onClick={close}
                >
                  <ForeignText as="span" class="one-line" text={one.title} max={120} />
                  {one.note && (
                    <ForeignText as="span" class="soft small one-line" text={one.note} max={160} />
                  )}
                </a>
              );
            })}
          </div>
        ))}
      </div>
      <p class="soft small found-foot" role="status">
        {text.trim() === ''
          ? 'Finds threads, artifacts, pointers, channels, tasks, runs, files and agents.'
          : all.length > 0
            ? plural(all.length, 'result')
            : pending
              ? 'Searching…'
              : 'Nothing found.'}
      </p>
    </div>
  );
}

/**
 * Searches a moment after the last key press. The results for the previous text stay until the first results for the
 * new text arrive.
 */
function useFound(q: string): { groups: readonly FoundGroup[]; pending: boolean } {
  const current = relay.value;
  const find = useMemo(() => finder(current), [current]);
  const [state, setState] = useState<{ groups: readonly FoundGroup[]; pending: boolean }>({
    groups: [],
    pending: false,
  });
  useEffect(() => {
    if (q === '') {
      setState({ groups: [], pending: false });
      return;
    }
    let over = false;
    setState((before) => ({ ...before, pending: true }));
    const show = (groups: readonly FoundGroup[]) => {
      if (!over) setState({ groups, pending: true });
    };
    const timer = setTimeout(async () => {
      await find(q, show);
      if (!over) setState((before) => ({ ...before, pending: false }));
    }, WAIT_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [q, find]);
  return state;
}
