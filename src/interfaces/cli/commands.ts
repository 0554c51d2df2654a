import type { Group } from './command.ts';
import type { Section } from './help.ts';
import { AGENT_COMMANDS } from './tree/agents.ts';
import { CHANNEL_COMMANDS } from './tree/channels.ts';
import { HOUSEKEEPING_COMMANDS } from './tree/housekeeping.ts';
import { MORE_COMMANDS } from './tree/more.ts';
import { POINTER_COMMANDS } from './tree/pointers.ts';
import { PROJECT_COMMANDS } from './tree/projects.ts';
import { SERVER_COMMANDS } from './tree/server.ts';
import { THREAD_COMMANDS } from './tree/threads.ts';

/** How `relay --help` groups them. */
export const SECTIONS: readonly Section[] = [
  { title: 'Hand over', commands: POINTER_COMMANDS },
  { title: 'Channels', commands: CHANNEL_COMMANDS },
  { title: 'Threads', commands: THREAD_COMMANDS },
  { title: 'Projects', commands: PROJECT_COMMANDS },
  { title: 'Agents', commands: AGENT_COMMANDS },
  { title: 'Server', commands: SERVER_COMMANDS },
  { title: 'Housekeeping', commands: HOUSEKEEPING_COMMANDS },
  { title: 'More', commands: MORE_COMMANDS },
];

/** The whole command tree. A command's own file is loaded only when it is called. */
export const ROOT: Group = {
  summary: 'relay: agents hand each other a short pointer instead of the payload',
  commands: Object.assign({}, ...SECTIONS.map((section) => section.commands)),
};
