import { setTimeout } from 'node:timers/promises';
import { parsePointer } from '../../../contract/pointer-url.ts';
import type { Receipt } from '../../../contract/receipts.ts';
import { whyDead } from '../channels/message-line.ts';
import { defineCommand } from '../command.ts';
import { bytes, moment, plural, printable } from '../human.ts';
import { interruption } from '../io.ts';
import type { Style } from '../style.ts';
import { openPointer } from './pointer-argument.ts';

const LOOK_EVERY_MS = 500;

export default defineCommand({
  usage: '<url>',
  details: `The ladder goes stored, notified, pulled, acked, result. A rung is shown where there is evidence for it: a
subscriber that answered after the message, bytes that were read, an acknowledgement, a result. Nothing turns into
"delivered" by waiting.`,
  flags: { watch: { short: 'w', help: 'go on and show what is new, until there is a result' } },
  examples: [
    ['relay receipts <url>', 'how far it has come'],
    ['relay receipts <url> --watch', 'as it happens'],
  ],
  async run(call) {
    const { io, flags } = call;
    const { client, url } = await openPointer(call);
    let ladder = await client.receipts(url);
    const show = (receipts: readonly Receipt[]) => {
      if (io.json) io.stdout.write(`${JSON.stringify({ ...ladder, receipts })}\n`);
      else for (const receipt of receipts) io.print(line(receipt, io.style));
    };
    if (!flags.watch) {
      io.result(ladder, () => ladder.receipts.map((receipt) => line(receipt, io.style)).join('\n'));
      return;
    }
    using interrupted = interruption();
    const { signal } = interrupted;
    show(ladder.receipts);
    while (ladder.reached !== 'result' && !signal.aborted) {
      await setTimeout(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      const seen = new Set(ladder.receipts.map((receipt) => JSON.stringify(receipt)));
      ladder = await client.receipts(url);
      const fresh = ladder.receipts.filter((receipt) => !seen.has(JSON.stringify(receipt)));
      if (fresh.length > 0) show(fresh);
    }
  },
});

function line(receipt: Receipt, style: Style): string {
  const { rung, by, at, last_at } = receipt;
  const when = moment(last_at ?? at);
  const notes = [...evidence(receipt), when].join(' · ');
  return `${style.bold(rung.padEnd(9))} ${style.cyan(printable(by))}  ${style.dim(notes)}`;
}

function evidence(receipt: Receipt): string[] {
  const {
    rung,
    count = 1,
    retries,
    bytes: size = 0,
    group,
    url,
    status,
    summary,
    reason,
    attempts = 0,
  } = receipt;
  switch (rung) {
    case 'stored':
      return [bytes(size)];
    case 'notified':
      return count > 1 ? [plural(count, 'subscriber')] : [];
    case 'pulled':
      return [plural(count, 'time'), ...(retries ? [`${retries} of them again`] : []), bytes(size)];
    case 'acked':
      return group === undefined ? [] : [`in the group ${printable(group)}`];
    case 'dead':
      return [`given up by the group ${printable(group ?? '')}`, whyDead(reason ?? 'attempts', attempts)];
    case 'result':
      return [status, summary, url && parsePointer(url).id].flatMap((text) =>
        text ? [printable(text)] : [],
      );
  }
}
