import { type AgentOutcome, partText } from '../../../client/bridge/remote-agent.ts';
import type { Flags } from '../command.ts';
import { printable } from '../human.ts';

/** What every command about an agent understands. */
export const AGENT_FLAGS = {
  token: { value: 'TOKEN', help: 'sent to the agent as Bearer (A2A_TOKEN)' },
} as const satisfies Flags;

/** Everything an agent answered with, in words; what is behind a URL as its URL. */
export function outcomeText({ parts, note }: AgentOutcome, io: { readonly interactive: boolean }): string {
  const lines = parts.map(partText);
  const text = lines.length > 0 ? lines.join('\n') : (note ?? '');
  return io.interactive ? printable(text) : text;
}
