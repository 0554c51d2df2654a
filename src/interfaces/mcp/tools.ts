import { RelayError } from '../../base/errors.ts';
import type { Tool, ToolContext } from './tool.ts';
import { BRIDGE_TOOLS } from './tools/bridge.ts';
import { CHANNEL_TOOLS } from './tools/channels.ts';
import { POINTER_TOOLS } from './tools/pointers.ts';
import { PROJECT_TOOLS } from './tools/project.ts';
import { THREAD_TOOLS } from './tools/threads.ts';

/** All tools. The list is part of every prompt of every client, so a tool must be worth its tokens. */
export const TOOLS: readonly Tool[] = [
  ...POINTER_TOOLS,
  ...BRIDGE_TOOLS,
  ...CHANNEL_TOOLS,
  ...THREAD_TOOLS,
  ...PROJECT_TOOLS,
];

/**
 * Returns the tools that the caller may use in this context. `wanted` limits them by name. Null means all
 * tools.
 */
export function toolsFor(context: ToolContext, wanted: readonly string[] | null): Tool[] {
  return TOOLS.filter(
    (tool) =>
      (wanted === null || wanted.includes(tool.name)) &&
      (!tool.local || context.local) &&
      (!tool.writesProject || context.project !== undefined) &&
      (tool.verb === null || context.may(tool.verb)),
  );
}

/** Parses the value of --tools, such as `push_context,pull_context`. */
export function readToolNames(text: string): string[] {
  const names = text.split(/[\s,]+/).filter(Boolean);
  const unknown = names.find((name) => !TOOLS.some((tool) => tool.name === name));
  if (unknown === undefined && names.length > 0) return names;
  throw new RelayError('bad_usage', {
    what: unknown === undefined ? '--tools is empty.' : `There is no tool "${unknown}".`,
    hint: `The tools are: ${TOOLS.map(({ name }) => name).join(', ')}.`,
  });
}
