import { useMemo, useState } from 'preact/hooks';
import { count } from '../../../src/base/format.ts';
import { Chart } from '../../parts/chart.tsx';
import { Switch } from '../../parts/filters.tsx';
import { Answer } from '../../parts/notices.tsx';
import { useAsked } from '../../session/asking.ts';

const TIME_RANGES = { 24: '24 hours', 168: '7 days', 720: '30 days' } as const;

/** A chart of the tokens saved over time, and an explanation of how they are calculated. */
export function TokensOverTime() {
  const [hours, setHours] = useState<`${keyof typeof TIME_RANGES}`>('24');
  const figures = useAsked(
    (relay) => relay.activity.figures({ hours: Number(hours), step: hours === '720' ? 'day' : 'hour' }),
    [hours],
    { every: 60_000 },
  );
  const points = useMemo(
    () => (figures.value?.points ?? []).map(({ at, avoided_tokens }) => ({ at, value: avoided_tokens })),
    [figures.value],
  );
  return (
    <section class="panel" aria-labelledby="tokens">
      <div class="panel-head">
        <h2 id="tokens">Tokens saved</h2>
        <Switch label="Time range" value={hours} set={setHours} options={TIME_RANGES} />
      </div>
      <Answer of={figures}>
        {({ method }) => (
          <>
            {points.some(({ value }) => value !== null) ? (
              <Chart label="Tokens saved over time" points={points} format={formatShort} />
            ) : (
              <p class="soft chart-none">No prompts in this time range.</p>
            )}
            <p class="soft small">{method}</p>
          </>
        )}
      </Answer>
    </section>
  );
}

function formatShort(value: number): string {
  const size = Math.abs(value);
  if (size >= 1_000_000) return `${(value / 1_000_000).toFixed(1)}M`;
  return size >= 10_000 ? `${Math.round(value / 1_000)}k` : count(Math.round(value));
}
