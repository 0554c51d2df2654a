import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { ForeignText } from './foreign-text.tsx';

/** Sets the tab's title. Screen readers read the title, so their users notice that the page has changed. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'ContextRelay' : `${title} · ContextRelay`;
  }, [title]);
}

/** A page's title, notes and actions. */
export function PageHead({
  title,
  above,
  children,
  actions,
}: {
  title: string;
  /** Label and address of the link to the parent page. */
  above?: { title: string; href: string };
  children?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  useTitle(title);
  return (
    <header class="page-head">
      <div class="page-title">
        {above && (
          <a class="above" href={above.href}>
            {above.title}
          </a>
        )}
        <h1>
          <ForeignText text={title} />
        </h1>
        {children && <div class="page-facts">{children}</div>}
      </div>
      {actions && <div class="page-actions">{actions}</div>}
    </header>
  );
}

/** A list of names with values. Rows that are false are left out. */
export function Facts({
  rows,
}: {
  rows: readonly (readonly [name: string, value: ComponentChildren] | false | null | undefined | '')[];
}) {
  return (
    <dl class="facts">
      {rows.map(
        (row) =>
          row && (
            <div key={row[0]} class="facts-row">
              <dt>{row[0]}</dt>
              <dd>{row[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** A number or another value with its name. */
export function Figure({
  name,
  value,
  foot,
  href,
}: {
  name: string;
  value: ComponentChildren;
  foot?: ComponentChildren;
  href?: string;
}) {
  const inner = (
    <>
      <span class="figure-name">{name}</span>
      <span class="figure-value">{value}</span>
      {foot && <span class="figure-foot">{foot}</span>}
    </>
  );
  return href ? (
    <a class="figure-box" href={href}>
      {inner}
    </a>
  ) : (
    <div class="figure-box">{inner}</div>
  );
}
