import { useEffect, useRef, useState } from 'preact/hooks';
import { Pending } from '../parts/notices.tsx';
import { visible } from './visible.ts';

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
      ({ laidOut }) => {
        if (over) return;
        place.current?.replaceChildren(laidOut(visible(text)));
        setReady(true);
      },
      () => !over && setFailed(true),
    );
    return () => {
      over = true;
    };
  }, [text]);
  if (failed) return <pre class="break">{visible(text)}</pre>;
  return (
    <>
      {!ready && <Pending what="Formatting" />}
      <div class="markdown" ref={place} />
    </>
  );
}
