import { encodeUtf8 } from '../../src/base/utf8.ts';
import { saveAs } from './download.ts';
import { Icon } from './icons.tsx';

interface Props {
  readonly file: string;
  readonly names: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** A button that saves rows as a CSV file. */
export function CsvButton({ file, names, rows }: Props) {
  return (
    <button
      type="button"
      class="button align-end"
      onClick={() => saveAs(file, encodeUtf8(csvText(names, rows)), 'text/csv')}
    >
      <Icon name="download" />
      CSV
    </button>
  );
}

/**
 * Returns CSV. Quotes fields where needed. Puts an apostrophe before a text that a spreadsheet would treat
 * as a formula.
 */
function csvText(names: Props['names'], rows: Props['rows']): string {
  const field = (value: string | number) => {
    const text = String(value);
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [names, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
}
