import { bytes, count } from '../../../src/base/format.ts';
import { type Receipt, RUNGS } from '../../../src/contract/pointers.ts';
import { Badge } from '../../parts/badge.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Ago } from '../../parts/time.tsx';

/**
 * All receipt stages of a pointer. A stage that the pointer has reached is listed with its receipts. The stage `dead`
 * appears only if it was reached.
 */
export function ReceiptStages({ receipts }: { receipts: readonly Receipt[] }) {
  const reached = new Set(receipts.map(({ rung }) => rung));
  return (
    <ol class="ladder">
      {RUNGS.filter((rung) => rung !== 'dead' || reached.has('dead')).map((rung) => {
        const found = receipts.filter((receipt) => receipt.rung === rung);
        return (
          <li key={rung} class={found.length > 0 ? 'reached' : ''}>
            <Badge word={found.some(({ status }) => status === 'failed') ? 'failed' : found[0] ? rung : ''}>
              {rung}
            </Badge>
            {found.length === 0 ? (
              <span class="soft">not recorded</span>
            ) : (
              <ul>
                {found.map((receipt, at) => (
                  <li key={at}>
                    <ForeignText as="strong" text={receipt.by} max={60} /> <Ago at={receipt.at} />{' '}
                    <span class="soft">{describe(receipt)}</span>
                    {receipt.summary && (
                      <ForeignText as="p" class="break" text={receipt.summary} max={1_000} />
                    )}
                  </li>
                ))}
              </ul>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function describe({ count: times, retries, bytes: size, group, reason, attempts, status }: Receipt): string {
  const parts = [
    times !== undefined && times > 1 && `${count(times)} times`,
    retries && `including ${retries} retries`,
    size !== undefined && bytes(size),
    group !== undefined && `group ${group}`,
    reason !== undefined && `${reason}, ${attempts ?? 0} attempts`,
    status,
  ];
  return parts.filter(Boolean).join(', ');
}
