import { type Line, own } from './line-reader.ts';

/** A column with more different values than this is free text. */
const VALUES = 48;
const COLUMNS = 64;

interface Extreme {
  value: number;
  line: Line;
}

/** If a column has at most this many different values, an excerpt shows an example of each. */
const FEW_VALUES = 8;
/** An excerpt shows this many of the largest numbers of a column. */
const LARGEST = 3;
/** An excerpt shows this many rare values of a column. */
const RARE_VALUES = 4;

/** The values of one column of a table or of one key of JSON objects. */
export class Column {
  rows = 0;
  #values: Map<string, { count: number; readonly line: Line }> | null = new Map();
  #numbers = 0;
  #min: Extreme | null = null;
  /** The largest numbers, in descending order. */
  readonly #largest: Extreme[] = [];

  add(value: string, line: Line): void {
    this.rows++;
    if (this.#values) {
      const entry = this.#values.get(value);
      if (entry) entry.count++;
      else if (this.#values.size < VALUES) this.#values.set(value, { count: 1, line: own(line) });
      else this.#values = null;
    }
    const number = NUMBER.test(value) ? Number.parseFloat(value) : Number.NaN;
    if (!Number.isFinite(number)) return;
    this.#numbers++;
    if (!this.#min || number < this.#min.value) this.#min = { value: number, line: own(line) };
    if (this.#largest.length < LARGEST || number > this.#largest.at(-1)!.value) {
      if (this.#largest.some(({ value }) => value === number)) return;
      const at = this.#largest.findIndex(({ value }) => value < number);
      this.#largest.splice(at === -1 ? this.#largest.length : at, 0, { value: number, line: own(line) });
      this.#largest.length = Math.min(LARGEST, this.#largest.length);
    }
  }

  /** Calls `found` for lines with rare values or extreme numbers. The rarity ranges from 0.1 (an example) to 1. */
  unusual(found: (line: Line, rarity: number) => void): void {
    if (this.rows < 5) return;
    const values = [...(this.#values?.values() ?? [])].sort((a, b) => a.count - b.count);
    for (const [i, { count, line }] of values.entries()) {
      const isRare = count <= Math.max(1, this.rows / 50) && values.length <= this.rows / 4;
      if (isRare && i < RARE_VALUES) found(line, 1 - Math.min(0.3, Math.log10(count) / 10));
      else if (values.length <= FEW_VALUES) found(line, 0.1);
    }
    if (this.#numbers < 0.8 * this.rows) return;
    for (const [i, { line }] of [...this.#largest, this.#min!].entries())
      found(line, 0.9 - 0.05 * (i % LARGEST));
  }
}

const NUMBER = /^\s*[-+]?\d{1,15}(?:\.\d+)?(?:\s?[%A-Za-z]{1,3})?\s*$/;

/** Finds rows with rare values and extreme numbers, in one pass and with limited memory. */
export class Fields {
  readonly #columns = new Map<string, Column>();

  add(name: string, value: string, line: Line): void {
    let column = this.#columns.get(name);
    if (!column) {
      if (this.#columns.size >= COLUMNS) return;
      column = new Column();
      this.#columns.set(name, column);
    }
    column.add(value.length > 40 ? value.slice(0, 40) : value, line);
  }

  unusual(found: (line: Line, rarity: number) => void): void {
    for (const column of this.#columns.values()) column.unusual(found);
  }
}

/** Reads keys and scalar values of JSON text that arrives in lines or pieces. */
export class JsonPairs {
  #depth = 0;
  #key = '';
  #text = '';
  #inString = false;
  #escaped = false;

  /**
   * Reads one line or piece. Calls `onField` for each scalar member value that ends here, with the key, the value and
   * the nesting depth of the object.
   */
  read(line: string, onField: (key: string, value: string, depth: number) => void): void {
    for (let at = 0; at < line.length; at++) {
      const char = line[at]!;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (char === '\\') this.#escaped = true;
        else if (char === '"') this.#inString = false;
        if (this.#text.length < 60) this.#text += char;
      } else if (char === '"') {
        this.#inString = true;
        this.#text = char;
      } else if (char === ':') {
        this.#key = this.#text;
        this.#text = '';
      } else if (char === '{' || char === '[') {
        this.#depth++;
        this.#key = this.#text = '';
      } else if (char === ',' || char === '}' || char === ']') {
        this.#end(onField);
        if (char !== ',') this.#depth = Math.max(0, this.#depth - 1);
      } else if (char > ' ' && this.#text.length < 60) this.#text += char;
    }
    // The end of a line never ends a string, but it ends any other value.
    if (!this.#inString && this.#text !== '' && this.#key !== '') this.#end(onField);
  }

  #end(found: (key: string, value: string, depth: number) => void): void {
    if (this.#key !== '' && this.#text !== '') found(this.#key, this.#text, this.#depth);
    this.#key = this.#text = '';
  }
}
