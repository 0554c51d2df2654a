import { visible } from '../viewers/visible.ts';

/** Foreign text, such as a name or a summary: never markup, and isolated in its direction. */
export function Said({ text, max = 300 }: { text: string; max?: number }) {
  const shown = visible(text);
  return (
    <bdi title={shown.length > max ? undefined : shown}>
      {shown.length > max ? `${shown.slice(0, max)}…` : shown}
    </bdi>
  );
}

/** A foreign JSON value on one line. */
export function SaidJson({ value, max = 300 }: { value: unknown; max?: number }) {
  return <Said text={typeof value === 'string' ? value : JSON.stringify(value)} max={max} />;
}
