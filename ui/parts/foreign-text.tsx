import { to } from '../frame/router.ts';
import { revealHidden } from '../viewers/reveal-hidden.ts';

/**
 * Displays foreign text, such as a name or a summary. It is never markup, and its direction does not affect
 * the text around it.
 */
export function ForeignText({ text, max = 300 }: { text: string; max?: number }) {
  const clean = revealHidden(text);
  return (
    <bdi title={clean.length > max ? undefined : clean}>
      {clean.length > max ? `${clean.slice(0, max)}…` : clean}
    </bdi>
  );
}

/** A foreign JSON value on one line. */
export function ForeignJson({ value, max = 300 }: { value: unknown; max?: number }) {
  return <ForeignText text={typeof value === 'string' ? value : JSON.stringify(value)} max={max} />;
}

export function ChannelLink({ name }: { name: string }) {
  return (
    <a href={to('channels', name)}>
      <ForeignText text={name} max={60} />
    </a>
  );
}
