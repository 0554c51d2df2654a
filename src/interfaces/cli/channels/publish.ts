import { RelayError } from '../../../base/errors.ts';
import { SIGNAL_BYTES } from '../../../base/limits.ts';
import { answerCommand, badUsage } from '../command.ts';
import { typedJson } from '../human.ts';
import { type Io, pipedText } from '../io.ts';
import { emptyInput } from '../pointers/payload.ts';

export default answerCommand({
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
  async ask({ io, args, flags, open }) {
    const [channel, word] = args;
    const text = word === undefined || word === '-' ? await fromInput(io, word) : word;
    const msg = flags.parse ? typedJson(text, notJson) : text;
    const client = await (await open()).client();
    return client.publish(channel!, msg, { idempotencyKey: flags['idempotency-key'] });
  },
  print: ({ seq, channel }, { interactive }) => (interactive ? `#${seq} on ${channel}` : ''),
});

function notJson(reason: string): RelayError {
  return badUsage(`The message is not JSON: ${reason}.`, 'Leave --parse out to send it as a text.');
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
  if (text === '') throw emptyInput();
  if (tooLong(text)) {
    throw new RelayError('too_large', {
      what: 'a signal',
      limit: SIGNAL_BYTES,
      hint: 'Push it instead: relay push --channel NAME',
    });
  }
  return text.replace(/\r?\n$/, '');
}
