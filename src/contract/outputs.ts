import type { JsonObject } from '../base/json.ts';

/** `metadata.kind` of a pointer to the output of a command. */
export const OUTPUT = 'output';
/**
 * `metadata.kind` of a pointer to a further part of an output. An output that is larger than a payload is stored in
 * parts.
 */
export const OUTPUT_PART = 'output-part';
/**
 * Prefix of the agent name under which an output is pulled for an MCP tool: `mcp SERVER TOOL`. The text of such a pull
 * goes to the tool and not to a model.
 */
export const TOOL_READER = 'mcp ';

/** Returns the ids of the further parts of an output, in order. */
export function outputParts({ kind, parts }: JsonObject): string[] {
  const ids = kind === OUTPUT && Array.isArray(parts) ? parts : [];
  return ids.filter((id) => typeof id === 'string').slice(0, MAX_PARTS);
}

const MAX_PARTS = 100;
