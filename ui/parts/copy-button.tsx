import { useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** Copies a text to the clipboard and confirms it, also for screen readers. */
export function CopyButton({ text, what, label }: { text: string; what: string; label?: string }) {
  const [state, setState] = useState<'ready' | 'copied' | 'refused'>('ready');
  const copy = async (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    setState(done ? 'copied' : 'refused');
    setTimeout(() => setState('ready'), 1_800);
  };
  const status = {
    ready: label ?? `Copy ${what}`,
    copied: `Copied ${what}`,
    refused: 'Copying failed: select the text and copy it',
  }[state];
  return (
    <button
      type="button"
      class={label ? 'button' : 'icon-button'}
      onClick={copy}
      aria-label={status}
      title={status}
    >
      <Icon name={state === 'copied' ? 'check' : 'copy'} />
      {label && <span>{state === 'copied' ? 'Copied' : label}</span>}
      <span class="unseen" role="status">
        {state === 'ready' ? '' : status}
      </span>
    </button>
  );
}

/** The start of an id, with the full id in the title and on the clipboard. */
export function Id({ value, href, what = 'id' }: { value: string; href?: string; what?: string }) {
  const short = value.length > 13 ? value.slice(0, 8) : value;
  return (
    <span class="id">
      {href ? (
        <a class="mono" href={href} title={value}>
          {short}
        </a>
      ) : (
        <span class="mono" title={value}>
          {short}
        </span>
      )}
      <CopyButton text={value} what={what} />
    </span>
  );
}

/** A command to copy into a terminal. */
export function Command({ line, about }: { line: string; about?: string }) {
  return (
    <div class="command">
      {about && <span class="command-about">{about}</span>}
      <span class="command-line">
        <code>
          <span class="prompt" aria-hidden="true">
            ${' '}
          </span>
          {line}
        </code>
        <CopyButton text={line} what="command" />
      </span>
    </div>
  );
}
