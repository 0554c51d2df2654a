import type { JsonObject } from '../base/json.ts';

/** `metadata.kind` of a pointer to the output of a command. */
export const OUTPUT = 'output';
/** `metadata.kind` of a pointer to a further part of an output that exceeds the size of a payload. */
export const OUTPUT_PART = 'output-part';
/** Beginning of the agent name in a pull that gives an output to an MCP tool: `mcp SERVER TOOL`. */
export const TOOL_READER = 'mcp ';

/** Returns the ids of the further parts of an output, in order. */
export function outputParts({ kind, parts }: JsonObject): string[] {
  const ids = kind === OUTPUT && Array.isArray(parts) ? parts : [];
  return ids.filter((id) => typeof id === 'string').slice(0, MAX_PARTS);
}

const MAX_PARTS = 100;
