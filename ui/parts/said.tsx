import { visible } from '../viewers/visible.ts';

/** A name, a summary, anything that others wrote: text and nothing else, and its direction stays within it. */
export function Said({ text, max = 300 }: { text: string; max?: number }) {
  const shown = visible(text);
  return (
    <bdi title={shown.length > max ? undefined : shown}>
      {shown.length > max ? `${shown.slice(0, max)}…` : shown}
    </bdi>
  );
}

/** A JSON value of others in one line. */
export function SaidJson({ value, max = 300 }: { value: unknown; max?: number }) {
  return <Said text={typeof value === 'string' ? value : JSON.stringify(value)} max={max} />;
}
