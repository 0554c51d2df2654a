import type { ComponentChildren } from 'preact';
import { useTitle } from '../frame/title.ts';
import { ForeignText } from './foreign-text.tsx';

/** A page's title, notes and actions. */
export function PageHead({
  title,
  above,
  children,
  actions,
}: {
  title: string;
  /** Link to the parent page: `Threads`. */
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

/** A named figure. */
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
