import { useEffect } from 'preact/hooks';

/** The title of the tab, which also tells a screen reader that the page has changed. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'ContextRelay' : `${title} · ContextRelay`;
  }, [title]);
}
