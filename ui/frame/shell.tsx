import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Self } from '../../src/contract/keys.ts';
import { isLoopback } from '../../src/contract/pointer-url.ts';
import { Icon, type IconName } from '../parts/icons.tsx';
import { self } from '../session/self.ts';
import { apiKey, connectionState, signOut } from '../session/session.ts';
import { path, segments, to } from './router.ts';
import { Search } from './search.tsx';
import { THEMES, theme } from './theme.ts';

const PAGES: readonly { at: string; title: string; icon: IconName }[] = [
  { at: '', title: 'Overview', icon: 'overview' },
  { at: 'threads', title: 'Threads', icon: 'thread' },
  { at: 'channels', title: 'Channels', icon: 'channel' },
  { at: 'pointers', title: 'Pointers', icon: 'pointer' },
  { at: 'files', title: 'Files', icon: 'file' },
  { at: 'pipelines', title: 'Pipelines', icon: 'pipeline' },
  { at: 'tasks', title: 'Tasks', icon: 'task' },
  { at: 'agents', title: 'Agents', icon: 'agent' },
  { at: 'projects', title: 'Projects', icon: 'project' },
  { at: 'costs', title: 'Costs', icon: 'cost' },
  { at: 'keys', title: 'Keys and usage', icon: 'key' },
];

/**
 * The frame around every page. `plain` omits the search, the navigation and the account, for visitors who only have a
 * link.
 */
export function Shell({ plain = false, children }: { plain?: boolean; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const here = path.value;
  useEffect(() => setOpen(false), [here]);
  return (
    <div class={plain ? 'shell plain' : 'shell'}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="side">
        <div class="side-top">
          <a class="brand" href={to()}>
            <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
              <rect width="32" height="32" rx="7" class="brand-tile" />
              <path d="M8 11h9a5 5 0 0 1 0 10h-2" class="brand-line" />
              <circle cx="10" cy="21" r="2.6" class="brand-dot" />
            </svg>
            ContextRelay
          </a>
          {!plain && <Search />}
          {!plain && (
            <button
              type="button"
              class="icon-button menu-button"
              aria-expanded={open}
              aria-controls="places"
              aria-label={open ? 'Close the menu' : 'Open the menu'}
              onClick={() => setOpen(!open)}
            >
              <Icon name={open ? 'close' : 'menu'} />
            </button>
          )}
        </div>
        <div id="places" class={open ? 'places open' : 'places'}>
          {!plain && <Navigation />}
          <div class="side-foot">
            {!plain && <Account />}
            <ThemeChoice />
          </div>
        </div>
      </header>
      <div class="body">
        <ExposureNotice />
        <ConnectionNotice />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  );
}

function Navigation() {
  const first = segments.value[0] ?? '';
  const current = first === 'compare' ? 'threads' : first;
  return (
    <nav aria-label="Main">
      <ul>
        {PAGES.map(({ at, title, icon }) => (
          <li key={at}>
            <a href={at === '' ? to() : to(at)} aria-current={at === current ? 'page' : undefined}>
              <Icon name={icon} />
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Account() {
  const who = self.value;
  const live = connectionState.value;
  return (
    <div class="who">
      <p class="live-state">
        <span class={`dot ${live}`} aria-hidden="true" />
        {{ live: 'Live', lost: 'Reconnecting…', idle: 'Not live' }[live]}
      </p>
      {who && (
        <p class="soft" title={`Tenant ${who.tenant}; scopes: ${who.scopes.join(', ')}`}>
          {isExposed(who) ? 'No keys' : who.auth === 'open' ? 'This machine, no keys' : who.name}
        </p>
      )}
      {apiKey.value !== null && (
        <button type="button" class="link" onClick={signOut}>
          Sign out
        </button>
      )}
    </div>
  );
}

function ThemeChoice() {
  const icons = { system: 'system', light: 'sun', dark: 'moon' } as const;
  return (
    <fieldset class="theme">
      <legend class="unseen">Colours</legend>
      {THEMES.map((name) => (
        <label key={name} title={`Colours: ${name}`}>
          <input
            type="radio"
            name="theme"
            class="unseen"
            checked={theme.value === name}
            onChange={() => {
              theme.value = name;
            }}
          />
          <Icon name={icons[name]} />
          <span class="unseen">{name}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Returns whether other machines can reach a relay that requires no key. */
function isExposed({ auth, exposed }: Self): boolean {
  return auth === 'open' && (exposed || !isLoopback(location.hostname));
}

function ExposureNotice() {
  if (self.value === null || !isExposed(self.value)) return null;
  return (
    <div role="note" class="notice">
      Other machines can reach this relay, and it requires no API key: anyone who can connect can read, change
      and delete everything. To require keys, start it without <code>--open</code>; on a Cloudflare Worker,
      set <code>RELAY_OPEN</code> to false.
    </div>
  );
}

function ConnectionNotice() {
  const lost = connectionState.value === 'lost';
  return (
    <div role="status" class={lost ? 'notice' : 'unseen'}>
      {lost && 'The connection to the relay was lost. This page may be out of date. Reconnecting…'}
    </div>
  );
}
