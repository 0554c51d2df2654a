import { signal } from '@preact/signals';

const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, 10_000);

/** Displays an age such as `3 min ago`, with the exact time in the title. */
export function Ago({ at }: { at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <span class="soft">never</span>;
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return <span>{String(at)}</span>;
  return (
    <time dateTime={moment.toISOString()} title={formatAbsolute(moment)}>
      {formatDistance(moment.getTime() - Math.max(now.value, Date.now() - 10_000))}
    </time>
  );
}

/** Displays what happened or will happen, and when: `expires in 3 h`. Nothing if the time is null. */
export function When({ verb, at }: { verb: string; at: string | number | null | undefined }) {
  if (at === null || at === undefined) return null;
  return (
    <span>
      {verb} <Ago at={at} />
    </span>
  );
}

/**
 * Displays a time as `14:03:07`, or as `16 Nov, 14:03` if it is on another day. With `short`, a time on another day
 * is displayed as `16 Nov`. Lists use this component if the order within a minute matters.
 */
export function Clock({ at, short = false }: { at: string | number; short?: boolean }) {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return <span>{String(at)}</span>;
  const today = moment.toDateString() === new Date().toDateString();
  return (
    <time dateTime={moment.toISOString()} title={formatAbsolute(moment)} class="mono">
      {today
        ? moment.toLocaleTimeString(undefined, { hour12: false })
        : moment.toLocaleString('en-GB', {
            day: 'numeric',
            month: 'short',
            ...(short ? {} : HOUR_AND_MINUTE),
          })}
    </time>
  );
}

const HOUR_AND_MINUTE = { hour: '2-digit', minute: '2-digit' } as const;

export function formatAbsolute(moment: Date): string {
  return `${moment.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })} (${moment.toISOString()})`;
}

const STEPS: readonly [ms: number, unit: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

export function formatDistance(ms: number): string {
  const away = Math.abs(ms);
  if (away < 5_000) return 'now';
  const [step, unit] = STEPS.find(([step]) => away >= step)!;
  // Round past durations down. Round future durations to the nearest unit.
  const amount = `${ms < 0 ? Math.floor(away / step) : Math.round(away / step)} ${unit}`;
  return ms < 0 ? `${amount} ago` : `in ${amount}`;
}

/** Formats a duration, such as `1.4 s` or `2 min 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
}
