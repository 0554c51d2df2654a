import type { ContextRelay } from '../../../src/sdk/context-relay.ts';
import { Pending } from '../../parts/notices.tsx';
import { useAsked } from '../../session/asking.ts';
import { useEvery } from '../../session/live.ts';
import { ReceiptStages } from './receipt-stages.tsx';

/** Who was notified, pulled it, and did it. Only its owner sees this. */
export function Receipts({ client, id }: { client: ContextRelay; id: string }) {
  const receipts = useAsked(() => client.receipts(id), [id, client]);
  useEvery(5_000, receipts.again);
  if (!receipts.value) return receipts.pending ? <Pending what="Loading receipts" /> : null;
  return (
    <section class="panel" aria-label="Receipts">
      <h2>Receipts</h2>
      <p class="soft small">What the relay has recorded about this pointer.</p>
      <ReceiptStages receipts={receipts.value.receipts} />
    </section>
  );
}
