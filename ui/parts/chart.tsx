import { useEffect, useRef } from 'preact/hooks';
import { theme } from '../frame/theme.ts';

interface Props {
  /** Description for screen readers. */
  readonly label: string;
  readonly points: readonly { readonly at: string; readonly value: number | null }[];
  readonly format: (value: number) => string;
}

const HEIGHT = 180;

/** A bar chart of figures over time. Screen readers get a table instead of the canvas. */
export function Chart({ label, points, format }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const colours = theme.value;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let plot: { destroy(): void; setSize(size: { width: number; height: number }): void } | null = null;
    let over = false;
    // A canvas cannot resolve CSS variables, so read the colour from the computed style of an element.
    const colour = (name: string) => {
      element.style.color = `var(${name})`;
      return getComputedStyle(element).color;
    };
    const { fontFamily } = getComputedStyle(element);
    import('uplot').then(({ default: Plot }) => {
      if (over) return;
      const times = points.map(({ at }) => Date.parse(at) / 1_000);
      const half = times.length > 1 ? (times[1]! - times[0]!) / 2 : 1_800;
      const axis = {
        stroke: colour('--soft'),
        grid: { stroke: colour('--line'), width: 1 },
        ticks: { show: false },
        font: `12px ${fontFamily}`,
      };
      plot = new Plot(
        {
          width: element.clientWidth,
          height: HEIGHT,
          legend: { show: false },
          cursor: { show: false },
          padding: [8, 20, 0, 0],
          scales: {
            // Extend the axis by half a bar at both ends, so that the first and last bar are not cut off.
            x: { range: (_, low, high) => [low - half, high + half] },
            y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] },
          },
          axes: [
            { ...axis, values: (_, at) => at.map((time) => formatTick(time, times)) },
            { ...axis, size: 56, values: (_, values) => values.map((value) => format(value)) },
          ],
          series: [
            {},
            {
              stroke: colour('--accent'),
              fill: `color-mix(in srgb, ${colour('--accent')} 55%, transparent)`,
              width: 1,
              paths: Plot.paths.bars!({ size: [0.8, 28] }),
              points: { show: false },
            },
          ],
        },
        [times, points.map(({ value }) => value)],
        element,
      );
    });
    const watching = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
    watching.observe(element);
    return () => {
      over = true;
      watching.disconnect();
      plot?.destroy();
    };
  }, [points, colours]);
  return (
    <figure class="chart">
      <div ref={place} class="chart-place" aria-hidden="true" style={{ height: `${HEIGHT}px` }} />
      <div class="unseen">
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">{label}</th>
            </tr>
          </thead>
          <tbody>
            {points.map(({ at, value }) => (
              <tr key={at}>
                <th scope="row">{new Date(at).toLocaleString()}</th>
                <td>{value === null ? 'none' : format(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

/** Formats the hour if the chart covers up to two days, else the day. */
function formatTick(time: number, times: readonly number[]): string {
  const days = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 86_400;
  const at = new Date(time * 1_000);
  return days <= 2
    ? at.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
    : at.toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
}
