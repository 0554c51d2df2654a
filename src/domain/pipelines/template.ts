import type { Json } from '../../base/json.ts';
import type { Reference } from './expression.ts';

/** `{{ inputs.topic }}` in a text. */
const PLACE = /\{\{\s*([\w.-]*)\s*\}\}/g;

export function templateReferences(text: string): Reference[] {
  return [...text.matchAll(PLACE)].map((match) => ({ path: match[1]!.split('.') }));
}

/** Fills the places of a template with what `fill` makes of them. */
export function fillTemplate(text: string, fill: (path: readonly string[]) => string): string {
  return text.replace(PLACE, (_, path: string) => fill(path.split('.')));
}

/** The same in every text inside a value. A text that is one place and nothing else becomes the value itself. */
export function fillValue(value: Json, resolve: (path: readonly string[]) => Json): Json {
  if (typeof value === 'string') {
    const only = /^\s*\{\{\s*([\w.-]*)\s*\}\}\s*$/.exec(value);
    return only ? resolve(only[1]!.split('.')) : fillTemplate(value, (path) => asText(resolve(path)));
  }
  if (Array.isArray(value)) return value.map((item) => fillValue(item, resolve));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillValue(item, resolve)]));
}

export function valueReferences(value: Json): Reference[] {
  if (typeof value === 'string') return templateReferences(value);
  if (value === null || typeof value !== 'object') return [];
  return Object.values(value).flatMap(valueReferences);
}

export function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
