import * as z from 'zod';
import { RelayError } from '../../base/errors.ts';
import { defineTool, type Tool, type ToolContext } from './tool.ts';
import { artifactGet, artifactPut, artifactSearch } from './tools/artifacts.ts';
import { bridgeTask } from './tools/bridge.ts';
import { channelPublish, channelRead } from './tools/channels.ts';
import { peekContext, pullContext, pushContext } from './tools/pointers.ts';
import { threadHeader, threadPatch } from './tools/threads.ts';

const projectBrief = defineTool({
  name: 'project_brief',
  description:
    'Where the project in this folder stands: state, todos, decisions. For a session that remembers nothing.',
  input: z.object({ about: z.string().optional().describe('a task, or a hand-off id') }),
  verb: null,
  local: true,
  doing: 'reading the project',
  run: async ({ about }, { context }) => ({ text: await context.brief!(about) }),
});

/** All there are. The list rides in every prompt of every client: a tool must earn its tokens. */
export const TOOLS: readonly Tool[] = [
  pushContext,
  peekContext,
  pullContext,
  bridgeTask,
  channelPublish,
  channelRead,
  threadHeader,
  threadPatch,
  artifactPut,
  artifactGet,
  artifactSearch,
  projectBrief,
];

/** Those that can be called in this context, by whoever asks there, out of those that were asked for. */
export function toolsFor(context: ToolContext, wanted: readonly string[] | null): Tool[] {
  return TOOLS.filter(
    (tool) =>
      (wanted === null || wanted.includes(tool.name)) &&
      (!tool.local || context.local) &&
      (tool.verb === null || context.may(tool.verb)),
  );
}

/** `push_context,pull_context`, as it stands behind --tools. */
export function readToolNames(text: string): string[] {
  const names = text.split(/[\s,]+/).filter(Boolean);
  const unknown = names.find((name) => !TOOLS.some((tool) => tool.name === name));
  if (unknown === undefined && names.length > 0) return names;
  throw new RelayError('bad_usage', {
    what: unknown === undefined ? '--tools names no tool.' : `There is no tool "${unknown}".`,
    hint: `The tools are: ${TOOLS.map(({ name }) => name).join(', ')}.`,
  });
}
