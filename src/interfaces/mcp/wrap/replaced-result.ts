import { isJsonObject, type Json, type JsonObject, jsonEqual } from '../../../base/json.ts';
import { orElse } from '../../../base/or-else.ts';
import { JsonSchema } from '../../../formats/json-schema.ts';

/**
 * Number of characters up to which structured content is kept whole. Strings that repeat the text of the
 * result do not count, because the excerpt replaces them.
 */
const SMALL_CHARS = 400;

/**
 * Limits for shortening large structured content, from mild to strict: items per list, and characters per
 * string.
 */
const LEVELS = [
  { items: 3, chars: 200 },
  { items: 1, chars: 60 },
  { items: 0, chars: 20 },
] as const;

/** A tool result, split into the text to store and functions that shorten its structured content. */
export interface SplitResult {
  readonly text: string;
  /**
   * Functions that return the structured content with the excerpt in it, best first. A function returns undefined if
   * the result has no structured content, and null if it cannot add the excerpt.
   */
  readonly structures: readonly ((excerpt: string, handle: string) => Json | undefined)[];
}

/** Splits a tool result. Returns null if it has neither text nor structured content. */
export function splitResult(result: JsonObject, schema: JsonObject | undefined): SplitResult | null {
  const { structuredContent: structured } = result;
  const text = contentOf(result)
    .flatMap((block) => textOf(block) ?? [])
    .join('\n');
  if (structured === undefined) return text === '' ? null : { text, structures: [() => undefined] };
  const replaceText = (excerpt: string) =>
    mapStrings(structured, (value) => (value === text && text !== '' ? excerpt : value));
  if (JSON.stringify(replaceText('')).length <= SMALL_CHARS) return { text, structures: [replaceText] };
  const whole = [text, ...(isSameData(text, structured) ? [] : [JSON.stringify(structured, null, 2)])];
  return {
    text: whole.filter((part) => part !== '').join('\n'),
    structures:
      schema === undefined
        ? [(excerpt) => ({ relay: excerpt })]
        : LEVELS.flatMap(({ items, chars }) => shortened(structured, items, chars)),
  };
}

/** Number of strings that are tried as the place for the excerpt in structured content, longest first. */
const PLACES = 5;

/**
 * Returns functions that shorten structured content and add the excerpt: the first as a new member, the
 * others in place of a string.
 */
function shortened(value: Json, items: number, chars: number): SplitResult['structures'] {
  const cut = (handle: string) =>
    prune(value, items, (text) => (text.length > chars ? inHandle(handle) : text));
  const places = [...new Set(stringsIn(cut(SAMPLE)))].sort((a, b) => b.length - a.length).slice(0, PLACES);
  return [
    (excerpt, handle) => {
      const rest = cut(handle);
      return isJsonObject(rest) ? { ...rest, relay: excerpt } : null;
    },
    ...places.map((place) => (excerpt: string, handle: string) => {
      let isPlaced = false;
      return mapStrings(cut(SAMPLE), (text) => {
        const isHere = text === place && !isPlaced;
        isPlaced ||= isHere;
        return isHere ? excerpt : text.replace(SAMPLE, handle);
      });
    }),
  ];
}

/** Placeholder for a handle. The real one replaces it when the text is stored. */
const SAMPLE = 'relay:0';

/**
 * Returns the result with `excerpt` in place of its texts. Everything else stays: images, errors
 * and metadata.
 */
export function replacedResult(
  result: JsonObject,
  excerpt: string,
  handle: string,
  o: { readonly structured: Json | undefined; readonly link: JsonObject | null },
): JsonObject {
  const blocks = contentOf(result);
  const first = blocks.find((block) => isJsonObject(block) && block.type === 'text');
  const content = blocks.flatMap((block): Json[] => {
    if (block === first) return [{ ...(block as JsonObject), text: excerpt }];
    if (!isJsonObject(block) || textOf(block) === null) return [block];
    const { resource } = block;
    return isJsonObject(resource) ? [{ ...block, resource: { ...resource, text: inHandle(handle) } }] : [];
  });
  return {
    ...result,
    content: [
      ...(first === undefined ? [{ type: 'text', text: excerpt }] : []),
      ...content,
      ...(o.link === null ? [] : [o.link]),
    ],
    ...(o.structured === undefined ? {} : { structuredContent: o.structured }),
  };
}

/**
 * Returns a function that checks whether a changed value still matches a schema. If the schema has keywords that we do
 * not support, the function rejects every value. A string with a `format` must be unchanged.
 */
export function changeChecker(
  schema: JsonObject | undefined,
  original: Json,
): (changed: Json | null | undefined) => boolean {
  if (schema === undefined) return (changed) => changed !== null;
  const strings = new Set(stringsIn(original));
  const isUnchanged = (text: string) => strings.has(text);
  const formats = new Proxy({}, { get: (_, name) => (name === 'undefined' ? undefined : isUnchanged) });
  try {
    const checked = new JsonSchema(schema, { formats });
    return (changed) => changed !== null && changed !== undefined && checked.check(changed) === null;
  } catch {
    return () => false;
  }
}

/** Returns a copy of a value with each string replaced, but not the names of members. */
export function mapStrings(value: Json, replace: (text: string) => string): Json {
  return prune(value, Number.POSITIVE_INFINITY, replace);
}

function prune(value: Json, items: number, replace: (text: string) => string): Json {
  if (typeof value === 'string') return replace(value);
  if (Array.isArray(value)) return value.slice(0, items).map((item) => prune(item, items, replace));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, prune(member, items, replace)]),
  );
}

function stringsIn(value: Json): string[] {
  const found: string[] = [];
  mapStrings(value, (text) => {
    found.push(text);
    return text;
  });
  return found;
}

function contentOf({ content }: JsonObject): Json[] {
  return Array.isArray(content) ? content : [];
}

/** Returns the text of a content block: a text or an embedded resource. */
function textOf(block: Json): string | null {
  if (!isJsonObject(block)) return null;
  const { type, text, resource } = block;
  const found = type === 'resource' && isJsonObject(resource) ? resource.text : type === 'text' ? text : null;
  return typeof found === 'string' ? found : null;
}

function isSameData(text: string, value: Json): boolean {
  return orElse(() => jsonEqual(JSON.parse(text), value), false);
}

function inHandle(handle: string): string {
  return `[in ${handle}]`;
}
