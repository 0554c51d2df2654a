import type { DeadLetter, Message } from '../../../contract/channels.ts';
import { printable } from '../human.ts';
import type { Style } from '../io.ts';

/** What a program wants of a message: the pointer, or the signal; a text as it is, anything else as JSON. */
export function messageContent({ url, msg }: Message): string {
  return url ?? (typeof msg === 'string' ? msg : JSON.stringify(msg ?? null));
}

/** A message as one line for people: when, from whom, what. */
export function messageLine(message: Message, style: Style, channel?: string): string {
  const time = new Date(message.ts).toTimeString().slice(0, 8);
  const { metadata, from, seq, attempt, dead } = message;
  const notes = [
    metadata && Object.keys(metadata).length > 0 ? printable(JSON.stringify(metadata)) : null,
    attempt !== undefined && attempt > 1 ? `attempt ${attempt}` : null,
    dead
      ? `dead letter of ${printable(dead.channel)}, group ${printable(dead.group)}: ${whyDead(dead.reason, dead.attempts)}`
      : null,
    message.gap ? 'messages before this one are no longer kept' : null,
  ].filter((note) => note !== null);
  const where = channel === undefined ? '' : ` ${style.bold(printable(channel))}`;
  const tail = notes.length > 0 ? `  ${style.dim(notes.join(' · '))}` : '';
  const content = printable(messageContent(message)).replaceAll('\n', '\\n');
  return `${style.dim(`${time} #${seq}`)}${where} ${style.cyan(printable(from))}  ${content}${tail}`;
}

export function whyDead(reason: DeadLetter['reason'], attempts: number): string {
  if (reason === 'attempts')
    return attempts === 1 ? 'its one attempt failed' : `all ${attempts} attempts failed`;
  return reason === 'age' ? 'nobody took it in time' : 'its pointer was gone';
}
