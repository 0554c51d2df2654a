import { to } from '../frame/router.ts';
import { revealHidden } from '../viewers/reveal-hidden.ts';

/**
 * Displays foreign text, such as a name or a summary. It is never markup, and its direction does not affect
 * the text around it. With `as`, the text is alone in an element with this name and class.
 */
export function ForeignText({
  text,
  max = 300,
  as: Around,
  class: name,
}: {
  text: string;
  max?: number;
  as?: 'p' | 'span' | 'strong' | 'h2';
  class?: string;
}) {
  const clean = revealHidden(text);
  const element = (
    <bdi title={clean.length > max ? undefined : clean}>
      {clean.length > max ? `${clean.slice(0, max)}…` : clean}
    </bdi>
  );
  return Around ? <Around class={name}>{element}</Around> : element;
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
