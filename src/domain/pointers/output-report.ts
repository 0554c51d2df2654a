import type { Json } from '../../base/json.ts';
import type { Caller } from '../../contract/caller.ts';
import type { OutputReport } from '../../contract/pointers.ts';
import { FERNET_CONTENT_TYPE } from '../../formats/fernet.ts';
import type { Receipts } from '../receipts/receipts.ts';
import type { PointerList, PointerRecord } from './record.ts';

/** Maximum number of outputs in the sums. If there are more, only the newest are used. */
const MAX_OUTPUTS = 2_000;
const COMMAND_CHARS = 200;

const METHOD =
  'Stored outputs that have not expired. Kept back: tokens of the outputs minus tokens of the printed excerpts. ' +
  "Pulled: the bytes of all later pulls, converted with the output's own tokens per byte. Net: kept back minus pulled. " +
  'Outputs that were printed whole are not stored and not counted.';

type Figures = OutputReport['total'];

/** Sums the tokens of stored outputs by command. It uses only data that pushes and receipts already store. */
export async function reportOutputs(
  { list, receipts }: { readonly list: PointerList; readonly receipts: Receipts },
  caller: Caller,
): Promise<OutputReport> {
  await receipts.flush();
  const commands = new Map<string, Figures>();
  let [total, since, counted, truncated] = [NOTHING, null as string | null, 0, false];
  for await (const { id, record } of list.outputs(caller)) {
    truncated = counted++ === MAX_OUTPUTS;
    if (truncated) break;
    const command = String(record.metadata.command ?? '').slice(0, COMMAND_CHARS);
    const figures = figuresOf(record, await receipts.pulledBytes(id));
    commands.set(command, sum(commands.get(command) ?? NOTHING, figures));
    total = sum(total, figures);
    since = new Date(record.created).toISOString();
  }
  const rows = Array.from(commands, ([command, figures]) => ({ command, ...figures }));
  return { commands: rows.sort((a, b) => b.net - a.net), total, since, truncated, method: METHOD };
}

const NOTHING: Figures = { runs: 0, tokens: 0, shown: 0, kept_back: 0, pulled: 0, net: 0 };

function figuresOf({ metadata, size, type }: PointerRecord, pulledBytes: number): Figures {
  const tokens = amount(metadata.tokens);
  const shownTokens = amount(metadata.shown);
  // An output that is too large for one payload is stored in parts. Then `size` is the size of one part, and
  // `bytes` the size of the whole output.
  const plain = amount(metadata.bytes) || size;
  const bytes = type === FERNET_CONTENT_TYPE ? (plain * 4) / 3 : plain;
  const pulled = bytes === 0 ? 0 : Math.round((pulledBytes * tokens) / bytes);
  return {
    runs: 1,
    tokens,
    shown: shownTokens,
    kept_back: tokens - shownTokens,
    pulled,
    net: tokens - shownTokens - pulled,
  };
}

/** Returns a number from the metadata, or 0 if it is not valid, because any client can set metadata. */
function amount(value: Json | undefined): number {
  return typeof value === 'number' && value >= 0 && value <= 1e12 ? Math.round(value) : 0;
}

function sum(older: Figures, newer: Figures): Figures {
  const names = Object.keys(NOTHING) as (keyof Figures)[];
  return Object.fromEntries(names.map((name) => [name, older[name] + newer[name]])) as unknown as Figures;
}
