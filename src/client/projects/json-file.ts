import { RelayError } from '../../base/errors.ts';
import { JsonDocument, type JsonPath } from '../../formats/json-document.ts';
import { type JsonNode, JsonSyntaxError, placeOf } from '../../formats/json-syntax.ts';
import { needResolved } from './conflicts.ts';

/** One of the JSON files of a project, open for reading and for careful changes. */
export function openJsonFile(file: string, text: string): JsonDocument {
  let doc: JsonDocument;
  try {
    doc = new JsonDocument(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    needResolved(file, text);
    throw new RelayError('bad_file', { file, what: error.what, line: error.line, column: error.column });
  }
  if (doc.root.kind !== 'object') {
    throw new RelayError('bad_file', {
      file,
      what: 'it must hold an object',
      ...placeOf(text, doc.root.start),
    });
  }
  return doc;
}

/** A command that would write into something of another kind says so and writes nothing. */
export function needKind(file: string, doc: JsonDocument, path: JsonPath, kind: 'object' | 'array'): void {
  const node = doc.find(path);
  if (!node || node.kind === kind) return;
  const what = `"${path.join('/')}" must be an ${kind}`;
  throw new RelayError('bad_file', { file, what, ...placeOf(doc.text, node.start) });
}

/** The text in a place; null where there is none, or something else. */
export function textAt(doc: JsonDocument, path: JsonPath): string | null {
  return textOf(doc.find(path));
}

function textOf(node: JsonNode | undefined): string | null {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : null;
}

/** The texts of a list; people also write one text where a list belongs. */
export function textsAt(doc: JsonDocument, path: JsonPath): string[] {
  const node = doc.find(path);
  if (node?.kind === 'array')
    return node.entries.map((entry) => textOf(entry.node)).filter((text) => text !== null);
  const one = textOf(node);
  return one ? [one] : [];
}
