import { RelayError } from '../../../base/errors.ts';
import type { Io } from '../io.ts';

/** Whose inbox: `--as`, else RELAY_AGENT, which an agent's session sets once. */
export function agentName(io: Io, flag: string | undefined, command: string): string {
  const name = flag ?? io.env.RELAY_AGENT;
  if (name) return name;
  throw new RelayError('bad_usage', {
    what: 'Whose inbox is it?',
    hint: `Use: relay ${command} --as NAME, or set RELAY_AGENT.`,
  });
}
