import { badRequest, type RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Relay } from '../../contract/relay.ts';

/** A member of a group, or a mere reader, at whose socket a frame came in. */
export interface Settler {
  /** The relay as the member sees it; null for readers. */
  readonly relay: Relay | null;
  readonly channel: string;
  readonly group: string | null;
}

/** What a member may say of its work, and how that is confirmed. */
const SETTLED = { ack: 'acked', nack: 'nacked', extend: 'extended' } as const;

/** Does what `{"ack": seq, "token": t}` asks for, or the same with `nack` and `extend`, and gives the frame that confirms it. */
export async function settle(
  { relay, channel, group }: Settler,
  frame: JsonObject | null,
): Promise<JsonObject> {
  const what = (Object.keys(SETTLED) as (keyof typeof SETTLED)[]).find((each) => frame && each in frame);
  if (!frame || !what) throw bad('A frame is {"ack": seq, "token": …}, or the same with nack or extend.');
  if (group === null || relay === null)
    throw bad('Only members of a group acknowledge: connect with ?group=NAME.');
  const { [what]: seq, token } = frame;
  if (typeof seq !== 'number' || typeof token !== 'number')
    throw bad(`"${what}" and "token" must be numbers.`);
  const { seq: _, ...more } = await relay.channels[what](channel, group, { seq, token });
  return { [SETTLED[what]]: seq, token, ...more };
}

/** What a frame was about, for the error that answers it. */
export function aboutOf(frame: JsonObject | null): { seq?: number; token?: number } {
  const number = (value: unknown) => (typeof value === 'number' ? value : undefined);
  return { seq: number(frame?.ack ?? frame?.nack ?? frame?.extend), token: number(frame?.token) };
}

function bad(what: string): RelayError {
  return badRequest(what);
}
