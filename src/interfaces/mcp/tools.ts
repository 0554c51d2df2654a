import { RelayError } from '../../base/errors.ts';
import type { Tool, ToolContext } from './tool.ts';
import { AGENT_TOOLS } from './tools/agents.ts';
import { ASK_TOOLS } from './tools/ask.ts';
import { BRIDGE_TOOLS } from './tools/bridge.ts';
import { CHANNEL_TOOLS } from './tools/channels.ts';
import { POINTER_TOOLS } from './tools/pointers.ts';
import { PROJECT_TOOLS } from './tools/project.ts';
import { SESSION_TOOLS } from './tools/sessions.ts';
import { THREAD_TOOLS } from './tools/threads.ts';

/**
 * The default tools. The list is part of every prompt of every client, so each tool must be worth its tokens.
 */
export const TOOLS: readonly Tool[] = [
  ...POINTER_TOOLS,
  ...BRIDGE_TOOLS,
  ...CHANNEL_TOOLS,
  ...THREAD_TOOLS,
  ...PROJECT_TOOLS,
];

/**
 * Groups of tools that are off by default. `relay mcp --tools NAME` adds a group. The group `resources` has no tools
 * of ours, but some clients add their own tools to every prompt if a server offers resources.
 */
export const TOOL_GROUPS: { readonly [group: string]: readonly Tool[] } = {
  agents: AGENT_TOOLS,
  ask: ASK_TOOLS,
  resources: [],
  sessions: SESSION_TOOLS,
};

/** The tools that a client wants. */
export interface ToolChoice {
  /** Names of single tools. If empty, all default tools are offered. */
  readonly names: readonly string[];
  readonly groups: readonly string[];
}

/** Returns the tools that the client wants and that the caller may use in this context. */
export function toolsFor(context: ToolContext, choice: ToolChoice | null): Tool[] {
  const { names, groups } = choice ?? { names: [], groups: [] };
  const grouped = Object.entries(TOOL_GROUPS).flatMap(([group, tools]) =>
    tools.filter(({ name }) => groups.includes(group) || names.includes(name)),
  );
  return [...TOOLS.filter(({ name }) => names.length === 0 || names.includes(name)), ...grouped].filter(
    (tool) =>
      (!tool.local || context.local) &&
      (!tool.writesProject || context.project !== undefined) &&
      (tool.verb === null || context.may(tool.verb)),
  );
}

/** Returns whether the server offers resources. Over stdio the client must ask for them. */
export function offersResources(context: ToolContext, choice: ToolChoice | null): boolean {
  return !context.local || (choice?.groups.includes('resources') ?? false);
}

/**
 * Parses the value of --tools: groups, such as `agents`, which are added to the default tools, or names of
 * single tools, which replace them.
 */
export function readToolChoice(text: string): ToolChoice {
  const names = text.split(/[\s,]+/).filter(Boolean);
  const toolNames = [...TOOLS, ...Object.values(TOOL_GROUPS).flat()].map(({ name }) => name);
  const isGroup = (word: string) => Object.hasOwn(TOOL_GROUPS, word);
  const unknown = names.find((word) => !isGroup(word) && !toolNames.includes(word));
  if (unknown === undefined && names.length > 0)
    return { names: names.filter((word) => !isGroup(word)), groups: names.filter(isGroup) };
  throw new RelayError('bad_usage', {
    what: unknown === undefined ? '--tools is empty.' : `There is no tool or group "${unknown}".`,
    hint: `The groups are: ${Object.keys(TOOL_GROUPS).join(', ')}. The tools are: ${toolNames.join(', ')}.`,
  });
}
