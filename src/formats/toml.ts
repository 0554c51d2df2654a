import { parse, type TomlTable } from 'smol-toml';
import type { JsonObject } from '../base/json.ts';

/** Parses TOML. Throws a `TomlError` with the line and column. */
export function readToml(text: string): JsonObject {
  return parse(text.replace(/^\uFEFF/, '')) satisfies TomlTable as unknown as JsonObject;
}
