import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { query, setParam } from '../frame/router.ts';

export interface Tab {
  readonly name: string;
  readonly title: string;
  readonly count?: number;
  readonly render: () => ComponentChildren;
}

/**
 * Views of a page as tabs. False entries of `tabs` are left out. The address contains the selected view, so that a
 * link can open this view.
 */
export function Tabs({ tabs: all, label }: { tabs: readonly (Tab | false)[]; label: string }) {
  const tabs = all.filter((tab) => tab !== false);
  const tabName = query.value.get('tab');
  const chosen = tabs.find(({ name }) => name === tabName) ?? tabs[0]!;
  const choose = (tab: Tab) => setParam('tab', tab === tabs[0] ? null : tab.name);
  useEffect(() => {
    document.getElementById(`tab-${chosen.name}`)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    // When a count changes, scroll to the selected tab again: counts arrive late and make the tabs wider.
  }, [chosen.name, tabs.map((tab) => tab.count).join()]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(chosen) + step + tabs.length) % tabs.length]!;
    choose(next);
    document.getElementById(`tab-${next.name}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`tab-${tab.name}`}
            aria-selected={tab === chosen}
            aria-controls="tab-panel"
            tabIndex={tab === chosen ? 0 : -1}
            onClick={() => choose(tab)}
          >
            {tab.title}
            {tab.count !== undefined && (
              <>
                {' '}
                <span class="count">{tab.count}</span>
              </>
            )}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen.name}`} key={chosen.name}>
        {chosen.render()}
      </div>
    </>
  );
}
