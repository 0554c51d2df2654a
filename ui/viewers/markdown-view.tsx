import { useEffect, useRef, useState } from 'preact/hooks';
import { Pending } from '../parts/notices.tsx';
import { revealHidden } from './reveal-hidden.ts';

/** A longer text is displayed as plain text, because rendering would block the page. */
export const MARKDOWN_CHARS = 500_000;

/** Renders Markdown. Raw HTML stays text, images are not fetched, and the output is sanitized again. */
export function MarkdownView({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const [ready, setReady] = useState(false);
  useEffect(() => {
    let over = false;
    setReady(false);
    import('./markdown.ts').then(
      ({ renderMarkdown }) => {
        if (over) return;
        place.current?.replaceChildren(renderMarkdown(revealHidden(text)));
        setReady(true);
      },
      () => !over && setFailed(true),
    );
    return () => {
      over = true;
    };
  }, [text]);
  if (failed) return <pre class="break">{revealHidden(text)}</pre>;
  return (
    <>
      {!ready && <Pending what="Formatting" />}
      <div class="markdown" ref={place} />
    </>
  );
}
