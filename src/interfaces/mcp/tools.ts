import { RelayError } from '../../base/errors.ts';
import type { Desk } from './desk.ts';
import type { Tool } from './tool.ts';
import { artifactGet, artifactPut, artifactSearch } from './tools/artifacts.ts';
import { bridgeTask } from './tools/bridge.ts';
import { channelPublish, channelRead } from './tools/channels.ts';
import { peekContext, pullContext, pushContext } from './tools/pointers.ts';
import { projectBrief } from './tools/project.ts';
import { threadHeader, threadPatch } from './tools/threads.ts';

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

/** Those that can be called at this desk, by whoever sits at it, out of those that were asked for. */
export function toolsFor(desk: Desk, wanted: readonly string[] | null): Tool[] {
  return TOOLS.filter(
    (tool) =>
      (wanted === null || wanted.includes(tool.name)) &&
      (!tool.local || desk.local) &&
      (tool.verb === null || desk.may(tool.verb)),
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
