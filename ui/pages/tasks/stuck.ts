import type { Agent } from '../../../src/contract/agents.ts';
import type { TaskInfo } from '../../../src/contract/tasks.ts';
import { distance } from '../../parts/time.tsx';

/** A task that nobody takes for so long needs somebody to look. */
const WAITS_TOO_LONG_MS = 5 * 60_000;
/** A lease that ran out is handed on within moments, unless nobody is there to take it. */
const LEASE_OVER_MS = 60_000;

/** Why a task gets nowhere, in a sentence; null where it goes as it should. */
export function stuckTask({ state, created_at, lease, channel }: TaskInfo, now = Date.now()): string | null {
  const waited = now - Date.parse(created_at);
  if (state === 'queued' && waited > WAITS_TOO_LONG_MS)
    return `Nobody has taken it since it was sent ${distance(-waited)}. Start a bridge on the channel ${channel}.`;
  const over = lease === null ? 0 : now - Date.parse(lease.lease_until);
  if (state === 'running' && over > LEASE_OVER_MS)
    return `The lease of ${lease!.member} ran out ${distance(-over)}, and nobody has taken the task over.`;
  return null;
}

/** How an agent is, in a word. */
export function agentState({ kind, alive, bridge }: Agent): 'follower' | 'silent' | 'working' | 'idle' {
  if (kind === 'follower') return 'follower';
  if (!alive) return 'silent';
  return (bridge?.running.length ?? 0) > 0 ? 'working' : 'idle';
}
