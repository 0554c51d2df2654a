import type { Bench, Measured } from './bench.ts';

export interface Line {
  readonly bench: Pick<Bench, 'name' | 'claim' | 'limit'>;
  readonly result: Measured;
}

export function isOver({ bench, result }: Line): boolean {
  return bench.limit !== null && result.ratio > bench.limit;
}

/** Figures aligned by their last character, words by their first. */
export function table(lines: readonly Line[]): string {
  const rows = [
    ['bench', 'measured', 'baseline', 'ratio', 'limit', '', ''],
    ...lines.map((line) => [
      line.bench.name,
      figure(line.result.measured, line.result.unit),
      figure(line.result.baseline, line.result.unit),
      `${line.result.ratio.toFixed(2)}×`,
      line.bench.limit === null ? '–' : `${line.bench.limit}×`,
      verdict(line),
      line.result.detail,
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const isWord = (column: number) => column === 0 || column >= 5;
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          isWord(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function verdict(line: Line): string {
  if (line.bench.limit === null) return '';
  return isOver(line) ? 'OVER' : 'ok';
}

function figure(value: number, unit: Measured['unit']): string {
  if (unit === 'MB') return `${value.toFixed(1)} MB`;
  return unit === 'ms' ? `${value.toFixed(value < 10 ? 3 : 1)} ms` : `${Math.round(value)} /s`;
}
