import { isOver, type Line } from './table.ts';

const ROW = 22;
const NAMES = 190;
const WIDTH = 760;
/** Horizontal position of the limit in the picture. The bar of a broken claim extends beyond it. */
const LIMIT_AT = 520;

/** Draws a bar for every claim: the used share of its limit, with the interquartile range of its rounds. */
export function plot(lines: readonly Line[]): string {
  const claims = lines.filter(({ bench, result }) => bench.limit !== null && !('skipped' in result));
  const height = 60 + claims.length * ROW;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Each claim as the part of its limit that is used up" font-family="system-ui, sans-serif" font-size="12">
<style>text{fill:#24292f}.note{fill:#57606a}.ok{fill:#2f7d4f}.over{fill:#c4432b}.limit{stroke:#57606a;stroke-dasharray:4 3}.spread{stroke:#24292f;stroke-width:1.5}@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9aa4ae}.ok{fill:#4ea673}.over{fill:#e5694f}.limit{stroke:#9aa4ae}.spread{stroke:#e6edf3}}</style>
<text class="note" x="${LIMIT_AT}" y="18" text-anchor="middle">limit</text>
<line class="limit" x1="${LIMIT_AT}" x2="${LIMIT_AT}" y1="24" y2="${height - 30}"/>
${claims.map(bar).join('\n')}
<text class="note" x="${NAMES}" y="${height - 10}">shorter is better; the thin line is the middle half of the rounds</text>
</svg>
`;
}

function bar(line: Line, row: number): string {
  const { bench, result } = line;
  if ('skipped' in result) return '';
  const at = (ratio: number) =>
    NAMES + Math.min((ratio / bench.limit!) * (LIMIT_AT - NAMES), WIDTH - NAMES - 60);
  const y = 30 + row * ROW;
  const end = at(result.ratio);
  const spread = result.spread
    ? `<line class="spread" x1="${at(result.spread[0]).toFixed(1)}" x2="${at(result.spread[1]).toFixed(1)}" y1="${y + 7}" y2="${y + 7}"/>`
    : '';
  return `<text x="${NAMES - 8}" y="${y + 11}" text-anchor="end">${bench.name}</text><rect class="${isOver(line) ? 'over' : 'ok'}" x="${NAMES}" y="${y}" width="${(end - NAMES).toFixed(1)}" height="14" rx="2"/>${spread}<text class="note" x="${(Math.max(end, result.spread ? at(result.spread[1]) : 0) + 6).toFixed(1)}" y="${y + 11}">${result.ratio.toFixed(2)} of ${bench.limit}×</text>`;
}
