import STATE_SCHEMA from '../../../schemas/state.schema.json' with { type: 'json' };
import TODOS_SCHEMA from '../../../schemas/todos.schema.json' with { type: 'json' };
import type { Json } from '../../base/json.ts';
import type { JsonDocument } from '../../formats/json-document.ts';
import { JsonSchema } from '../../formats/json-schema.ts';
import { STATE_JSON, timeOf } from './files.ts';

/** Maximum number of problems that are listed per file. */
const MAX_FAULTS = 3;

/**
 * Returns the schema violations of a file as sentences, in the order of the file. Lists at most `most` of
 * them.
 */
export function faults(name: string, doc: JsonDocument, most: number = MAX_FAULTS): string[] {
  const rules = (name === STATE_JSON ? STATE_SCHEMA : TODOS_SCHEMA) as Json;
  const schema = new JsonSchema(rules, { formats: FORMATS });
  const found = schema
    .problems(doc.get()!)
    .map((problem) => ({ ...problem, at: doc.find(problem.path)!.start }))
    .sort((a, b) => a.at - b.at);
  const listed = found.slice(0, most).map(({ path, what }) => {
    const place = [`${name}, line ${doc.place(path).line}`, ...(path.length > 0 ? [path.join('/')] : [])];
    return `${place.join(', ')}: ${what}.`;
  });
  if (found.length > most) listed.push(`${name}: ${found.length - most} more; see relay project check`);
  return listed;
}

const FORMATS = { 'date-time': (text: string) => timeOf(text) !== null };
