import type { ContextRelay } from '../../../sdk/context-relay.ts';
import { printable } from '../human.ts';
import type { Io } from '../io.ts';

/** Says what of an encrypted push others can read all the same, and who cannot read the rest. */
export async function warnOfEncryption(
  io: Io,
  client: ContextRelay,
  { metadata = {}, channel }: { readonly metadata?: object; readonly channel?: string },
): Promise<void> {
  const names = Object.keys(metadata);
  if (names.length > 0) {
    io.warn(`metadata is never encrypted: everybody can read ${names.map(printable).join(', ')}.`);
  }
  if (channel === undefined || (await client.hasChannelKey(channel))) return;
  const name = printable(channel);
  io.warn(`there is no key for the channel ${name}: its subscribers cannot read what is encrypted.`);
  io.note(`  → relay channel key new ${name}, and for them: relay channel key add ${name}`);
}
