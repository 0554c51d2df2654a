import { RelayError } from '../../../base/errors.ts';
import type { Json } from '../../../base/json.ts';
import { SIGNAL_BYTES } from '../../../base/limits.ts';
import { badUsage, defineCommand } from '../command.ts';
import { type Io, pipedText } from '../io.ts';

export default defineCommand({
  usage: '<channel> [msg|-]',
  details: `A signal is a short text, up to 16 KiB, for all subscribers of the channel. What is larger is a push:
relay push FILE --channel NAME.`,
  flags: {
    parse: { help: 'the message is JSON and is sent as such' },
    'idempotency-key': { value: 'KEY', help: 'sent twice with the same key, it is one message' },
  },
  examples: [
    ['relay publish builds "build 512 is green"', 'a text'],
    ['relay publish builds --parse \'{"build": 512, "ok": true}\'', 'JSON'],
    ['date | relay publish clock', 'from a pipe'],
  ],
  async run({ io, args, flags, open }) {
    const [channel, word] = args;
    const text = word === undefined || word === '-' ? await fromInput(io, word) : word;
    const msg = flags.parse ? parsed(text) : text;
    const { client } = await open();
    const published = await client.publish(channel!, msg, { idempotencyKey: flags['idempotency-key'] });
    io.result(published, io.interactive ? `#${published.seq} on ${published.channel}` : '');
  },
});

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badUsage(
      `The message is not JSON: ${(error as Error).message}.`,
      'Leave --parse out to send it as a text.',
    );
  }
}

/** Without the line end that a pipe puts behind it. */
async function fromInput(io: Io, word: string | undefined): Promise<string> {
  if (word === undefined && io.stdin.isTTY) {
    throw badUsage(
      'There is no message: none was given and nothing is piped in.',
      'Use: relay publish CHANNEL "some words"',
    );
  }
  const tooLong = (text: string) => Buffer.byteLength(text) > 2 * SIGNAL_BYTES;
  const text = await pipedText(io, tooLong);
  if (tooLong(text)) {
    throw new RelayError('too_large', {
      what: 'a signal',
      limit: SIGNAL_BYTES,
      hint: 'Push it instead: relay push --channel NAME',
    });
  }
  return text.replace(/\r?\n$/, '');
}
