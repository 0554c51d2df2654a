import { useMemo, useState } from 'preact/hooks';
import { count } from '../../../src/base/format.ts';
import { Chart } from '../../parts/chart.tsx';
import { Switch } from '../../parts/filters.tsx';
import { Answer } from '../../parts/notices.tsx';
import { useAsked } from '../../session/asking.ts';
import { useEvery } from '../../session/live.ts';

const TIME_RANGES = { 24: '24 hours', 168: '7 days', 720: '30 days' } as const;

/** Tokens saved according to the prompt ledger, and an explanation of how they are calculated. */
export function TokensOverTime() {
  const [hours, setHours] = useState<`${keyof typeof TIME_RANGES}`>('24');
  const figures = useAsked(
    (relay) => relay.activity.figures({ hours: Number(hours), step: hours === '720' ? 'day' : 'hour' }),
    [hours],
  );
  useEvery(60_000, figures.again);
  return (
    <section class="panel" aria-labelledby="tokens">
      <div class="panel-head">
        <h2 id="tokens">Tokens saved</h2>
        <Switch label="Time range" value={hours} set={setHours} options={TIME_RANGES} />
      </div>
      <Answer of={figures}>{({ points, method }) => <TokensChart points={points} method={method} />}</Answer>
    </section>
  );
}

function TokensChart({
  points,
  method,
}: {
  points: readonly { at: string; avoided_tokens: number | null }[];
  method: string;
}) {
  const times = useMemo(() => points.map(({ at }) => Date.parse(at) / 1_000), [points]);
  const series = useMemo(
    () => [
      {
        name: 'Tokens saved',
        colour: '--accent',
        values: points.map(({ avoided_tokens }) => avoided_tokens),
      },
    ],
    [points],
  );
  const prompted = points.some(({ avoided_tokens }) => avoided_tokens !== null);
  return (
    <>
      {prompted ? (
        <Chart label="Tokens saved over time" times={times} series={series} format={formatShort} />
      ) : (
        <p class="soft chart-none">No prompts in this time range.</p>
      )}
      <p class="soft small">{method}</p>
    </>
  );
}

function formatShort(value: number): string {
  const size = Math.abs(value);
  if (size >= 1_000_000) return `${(value / 1_000_000).toFixed(1)}M`;
  return size >= 10_000 ? `${Math.round(value / 1_000)}k` : count(Math.round(value));
}
