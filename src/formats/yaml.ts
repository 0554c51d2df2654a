import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml';
import type { Json } from '../base/json.ts';

/** A parsed YAML text that knows the line of each part. */
export interface YamlText {
  readonly value: Json;
  /**
   * Returns the line of a member or item, from 1. If the path does not exist, returns the line of the nearest parent.
   */
  lineOf(path: readonly (string | number)[]): number;
  readonly problems: readonly { readonly line: number; readonly what: string }[];
}

/** Parses YAML 1.2. Does not throw; errors are in `problems`. */
export function readYaml(text: string): YamlText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: false });
  const at = (node: unknown): number | undefined => {
    const offset = (node as Node | null)?.range?.[0];
    return offset === undefined ? undefined : lines.linePos(offset).line;
  };
  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    line: lines.linePos(pos[0]).line,
    what: message,
  }));
  visit(document, {
    Alias(_, node) {
      problems.push({ line: at(node) ?? 1, what: 'An alias (*) is not allowed here' });
      return visit.BREAK;
    },
  });
  const lineOf = (path: readonly (string | number)[]): number => {
    let node: unknown = document.contents;
    let line = 1;
    for (const segment of path) {
      if (isMap(node)) {
        const pair = node.items.find(
          ({ key }) => (isScalar(key) ? String(key.value) : key) === String(segment),
        );
        if (!isPair(pair)) break;
        line = at(pair.key) ?? line;
        node = pair.value;
      } else if (isSeq(node)) {
        node = node.items[Number(segment)];
        line = at(node) ?? line;
      } else break;
    }
    return line;
  };
  // Convert dates and other special values to their JSON form.
  return {
    value: problems.length > 0 ? null : (JSON.parse(JSON.stringify(document.toJS()) ?? 'null') as Json),
    lineOf,
    problems,
  };
}
