import { useAsked } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';

/** Number of newest items to look up. This is enough for the items in the newest activity. */
const LOOKUP_LIMIT = 100;

/** Returns names of the newest threads, pointers and tasks by id. Activity entries often contain only the ids. */
export function useNames(): ReadonlyMap<string, string> {
  const threads = useAsked(
    async (relay) => (hasScope('threads') ? (await relay.threads.list({ limit: LOOKUP_LIMIT })).threads : []),
    [],
    { live: ({ kind }) => kind === 'thread.created' },
  );
  const pointers = useAsked(
    async (relay) => (hasScope('pull') ? (await relay.pointers.list({ limit: LOOKUP_LIMIT })).pointers : []),
    [],
    { live: ({ kind }) => kind === 'pointer.pushed' || kind === 'task.sent' },
  );
  const names = new Map<string, string>();
  for (const { thread_id, name } of threads.value ?? []) names.set(thread_id, name);
  for (const { id, metadata } of pointers.value ?? [])
    if (typeof metadata.summary === 'string') names.set(id, metadata.summary);
  return names;
}
