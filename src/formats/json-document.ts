import { type Json, jsonEqual } from '../base/json.ts';
import {
  type JsonEntry,
  type JsonNode,
  jsonValue,
  lineStarts,
  parseJsonText,
  placeOf,
} from './json-syntax.ts';

export type JsonPath = readonly (string | number)[];

/**
 * A JSON file that can be edited without reformatting it. An edit changes neither unknown fields nor the order of
 * members, indentation, line ends, comments, a byte order mark or the end of the file.
 */
export class JsonDocument {
  #text: string;
  #root: JsonNode;
  #lines: number[] | null = null;
  readonly #comments: boolean;

  /** Throws a `JsonSyntaxError` with line and column if the text is not valid. */
  constructor(text: string, o: { comments?: boolean } = {}) {
    this.#comments = o.comments === true;
    this.#text = text;
    this.#root = parseJsonText(text, o);
  }

  get text(): string {
    return this.#text;
  }

  get root(): JsonNode {
    return this.#root;
  }

  get(path: JsonPath = []): Json | undefined {
    const node = this.find(path);
    return node && jsonValue(node);
  }

  find(path: JsonPath): JsonNode | undefined {
    let node: JsonNode | undefined = this.#root;
    for (const step of path) node = node && entryAt(node, step)?.node;
    return node;
  }

  /** Returns the line and column of a value, for error messages. */
  place(path: JsonPath): { line: number; column: number } {
    this.#lines ??= lineStarts(this.#text);
    return placeOf(this.#text, this.find(path)?.start ?? 0, this.#lines);
  }

  /** Sets a value and creates missing parent objects. Changes nothing if the current value is equal. */
  set(path: JsonPath, value: Json): this {
    const present = this.find(path);
    if (present) {
      if (!jsonEqual(jsonValue(present), value)) {
        this.#edit([present.start, present.end, this.#write(value, this.#indentAt(present.start))]);
      }
      return this;
    }
    let depth = path.length - 1;
    while (depth > 0 && !this.find(path.slice(0, depth))) depth--;
    const parent = this.find(path.slice(0, depth))!;
    let fresh = value;
    for (const step of path.slice(depth + 1).reverse())
      fresh = typeof step === 'number' ? [fresh] : { [step]: fresh };
    this.#insert(parent, path[depth]!, fresh);
    return this;
  }

  /** Appends an item to an array. Creates the array if it is missing. */
  append(path: JsonPath, item: Json): this {
    const node = this.find(path);
    if (!node) return this.set(path, [item]);
    this.#insert(node, node.kind === 'array' ? node.entries.length : 0, item);
    return this;
  }

  /** Removes a member or item, with its comma and the white space before it. */
  remove(path: JsonPath): this {
    const parent = this.find(path.slice(0, -1));
    const entry = parent && entryAt(parent, path.at(-1)!);
    if (!parent || parent.kind === 'scalar' || !entry) return this;
    const index = parent.entries.indexOf(entry);
    let before = this.#spaceBefore(entry.start);
    let end = entry.comma === null ? entry.end : entry.comma + 1;
    const alone = before === parent.start + 1 && /^\s*$/.test(this.#text.slice(end, parent.end - 1));
    if (alone) end = parent.end - 1;
    // The previous line may end with a comment. Keep the line end after the comment; otherwise the next value
    // would become part of the comment.
    else if (this.#comments && /[\r\n]/.test(this.#text.slice(before, entry.start))) {
      if (!/^[\t ]*[\r\n]/.test(this.#text.slice(end))) before = entry.start;
    }
    // Removing the last entry also removes the comma before it.
    const comma = entry.comma === null ? parent.entries[index - 1]?.comma : null;
    this.#edit([before, end, ''], ...(comma == null ? [] : [[comma, comma + 1, ''] as const]));
    return this;
  }

  #insert(parent: JsonNode, step: string | number, value: Json): void {
    if (parent.kind === 'scalar' || (parent.kind === 'object') !== (typeof step === 'string')) {
      throw new TypeError(`there is no place for ${String(step)} in a ${parent.kind}`);
    }
    const last = parent.entries.at(-1);
    const key = typeof step === 'string' ? `${JSON.stringify(step)}:${this.#gapAfterColon()}` : '';
    const { text } = this;
    if (!last) {
      const outer = this.#indentAt(parent.start);
      const inner = outer + this.#unit();
      const member = key + this.#write(value, inner);
      const body = this.#flat() ? member : `${this.#eol()}${inner}${member}${this.#eol()}${outer}`;
      const inside = text.slice(parent.start + 1, parent.end - 1);
      // Keep a comment that is between the braces, and put the new member after it.
      const comment = inside.trim() === '' ? '' : inside.replace(/\s+$/, '');
      this.#edit([parent.start + 1, parent.end - 1, comment + body]);
      return;
    }
    const lead = this.#spaceBefore(last.start);
    const gap = text.slice(lead, last.start);
    const ownLine = /[\r\n]/.test(gap);
    const indent = ownLine ? /[^\r\n]*$/.exec(gap)![0] : this.#indentAt(parent.start);
    const between = ownLine ? this.#eol() + indent : parent.entries.length > 1 ? gap : this.#gapAfterComma();
    const member = between + key + this.#write(value, indent);
    const { comma, end } = last;
    const at = this.#endOfLineRemark(comma === null ? end : comma + 1);
    if (comma === null) this.#edit([at, at, member], [end, end, ',']);
    else this.#edit([at, at, `${member},`]);
  }

  /**
   * Returns the index after a comment on the rest of the line. Such a comment belongs to the member before
   * it.
   */
  #endOfLineRemark(at: number): number {
    if (!this.#comments) return at;
    const remark = /^[\t ]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/)(?=[\t ]*[\r\n])/.exec(this.#text.slice(at));
    return at + (remark?.[0].length ?? 0);
  }

  #spaceBefore(at: number): number {
    let start = at;
    while (start > 0 && /[\t\n\r ]/.test(this.#text[start - 1]!)) start--;
    return start;
  }

  /** Returns the indentation of the line at this index. */
  #indentAt(at: number): string {
    const line = this.#text
      .slice(0, at)
      .split(/[\r\n]/)
      .at(-1)!;
    return /^\uFEFF?([\t ]*)/.exec(line)![1]!;
  }

  #write(value: Json, indent: string): string {
    if (this.#flat()) return flatJson(value, this.#gapAfterComma(), this.#gapAfterColon());
    return JSON.stringify(value, null, this.#unit()).replaceAll('\n', this.#eol() + indent);
  }

  /**
   * Returns whether the document is on one line. False for an empty document, so that its first member gets a line of
   * its own.
   */
  #flat(): boolean {
    const { kind, start, end } = this.#root;
    if (kind === 'scalar' || this.#root.entries.length === 0) return false;
    return !/[\r\n]/.test(this.#text.slice(start, end));
  }

  #eol(): string {
    return /\r\n|\n|\r/.exec(this.#text)?.[0] ?? '\n';
  }

  #unit(): string {
    const first = this.#root.kind === 'scalar' ? undefined : this.#root.entries[0];
    const lead = first && /[\r\n]([\t ]+)$/.exec(this.#text.slice(0, first.start));
    return lead ? lead[1]! : '  ';
  }

  #gapAfterColon(): string {
    const member = firstMember(this.#root);
    if (!member) return ' ';
    return /^"(?:[^"\\]|\\.)*"\s*:([\t ]*)/.exec(this.#text.slice(member.start, member.end))?.[1] ?? ' ';
  }

  #gapAfterComma(): string {
    return this.#gapAfterColon() === '' ? '' : ' ';
  }

  /** Replaces ranges of the text. The edits must be in order from the last range to the first. */
  #edit(...edits: readonly (readonly [start: number, end: number, fresh: string])[]): void {
    for (const [start, end, fresh] of edits) {
      this.#text = this.#text.slice(0, start) + fresh + this.#text.slice(end);
    }
    this.#lines = null;
    this.#root = parseJsonText(this.#text, { comments: this.#comments });
  }
}

/** Finds a member or item. Of several members with one name, returns the last one, as JSON.parse does. */
function entryAt(node: JsonNode, step: string | number): JsonEntry | undefined {
  if (node.kind === 'array' && typeof step === 'number') return node.entries[step];
  if (node.kind === 'object' && typeof step === 'string')
    return node.entries.findLast((entry) => entry.key === step);
  return undefined;
}

function firstMember(node: JsonNode): JsonEntry | undefined {
  if (node.kind === 'scalar') return undefined;
  if (node.kind === 'object') return node.entries[0];
  for (const entry of node.entries) {
    const member = firstMember(entry.node);
    if (member) return member;
  }
  return undefined;
}

function flatJson(value: Json, afterComma: string, afterColon: string): string {
  if (Array.isArray(value)) {
    return `[${value.map((item) => flatJson(item, afterComma, afterColon)).join(`,${afterComma}`)}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([key, item]) => `${JSON.stringify(key)}:${afterColon}${flatJson(item, afterComma, afterColon)}`,
    );
    return `{${members.join(`,${afterComma}`)}}`;
  }
  return JSON.stringify(value);
}
