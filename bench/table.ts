import type { Bench, Measured, Skipped } from './bench.ts';

export interface Line {
  readonly bench: Pick<Bench, 'name' | 'claim' | 'limit'>;
  readonly result: Measured | Skipped;
}

export function isOver({ bench, result }: Line): boolean {
  if ('skipped' in result) return result.failed === true;
  if (bench.limit === null) return false;
  return result.ratio > bench.limit || result.broken !== undefined;
}

/** Formats a table. Figures are right-aligned, text is left-aligned. */
export function table(lines: readonly Line[]): string {
  const worked = lines.some(({ result }) => 'work' in result);
  const rows = [
    ['bench', 'measured', 'baseline', 'ratio', 'spread', ...(worked ? ['cpu'] : []), 'limit', '', ''],
    ...lines.map((line) => [
      line.bench.name,
      ...figures(line.result),
      ...(worked ? [work(line.result)] : []),
      line.bench.limit === null ? '–' : `${line.bench.limit}×`,
      verdict(line),
      'skipped' in line.result ? line.result.skipped : (line.result.broken ?? line.result.detail),
    ]),
  ];
  const more = lines.flatMap(({ result }) => ('more' in result && result.more ? [`\n${result.more}`] : []));
  return [aligned(rows, (column) => column === 0 || column >= rows[0]!.length - 2), ...more].join('\n');
}

export function aligned(rows: readonly (readonly string[])[], isWord: (column: number) => boolean): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
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
  if ('skipped' in line.result) return line.result.failed ? 'FAILED' : '';
  if (line.bench.limit === null) return '';
  return isOver(line) ? 'OVER' : 'ok';
}

function figures(result: Line['result']): string[] {
  if ('skipped' in result) return ['–', '–', '–', '–'];
  const { measured, baseline, unit, ratio, spread } = result;
  return [
    figure(measured, unit),
    figure(baseline, unit),
    times(ratio),
    spread ? spread.map((one) => one.toFixed(2)).join('–') : '–',
  ];
}

function work(result: Line['result']): string {
  return 'work' in result && result.work ? times(result.work.ratio) : '–';
}

function times(ratio: number): string {
  return `${ratio.toFixed(2)}×`;
}

function figure(value: number, unit: Measured['unit']): string {
  if (unit === 'tokens') return `${value} tokens`;
  if (unit === 'MB') return `${value.toFixed(1)} MB`;
  return unit === 'ms' ? `${value.toFixed(value < 10 ? 3 : 1)} ms` : `${Math.round(value)} /s`;
}
