import type { ContextRelay } from '../../../src/sdk/context-relay.ts';
import { Pending } from '../../parts/notices.tsx';
import { useAsked } from '../../session/asking.ts';
import { useEvery } from '../../session/live.ts';
import { Ladder } from './ladder.tsx';

/** Who was notified, pulled it, and did it. Only its owner sees this. */
export function Receipts({ client, id }: { client: ContextRelay; id: string }) {
  const ladder = useAsked(() => client.receipts(id), [id, client]);
  useEvery(5_000, ladder.again);
  if (!ladder.value) return ladder.pending ? <Pending what="Loading receipts" /> : null;
  return (
    <section class="panel" aria-label="Receipts">
      <h2>Receipts</h2>
      <p class="soft small">What the relay has seen happen to this pointer. No stage is assumed.</p>
      <Ladder receipts={ladder.value.receipts} />
    </section>
  );
}
