import { useEffect } from 'preact/hooks';

/** Sets the tab's title, which also tells a screen reader that the page has changed. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'ContextRelay' : `${title} · ContextRelay`;
  }, [title]);
}
