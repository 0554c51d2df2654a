import type { DeadLetter, Message } from '../../contract/channels.ts';
import { printable } from './human.ts';
import type { Style } from './io.ts';

/**
 * Returns the pointer of a message. If the message has no pointer, returns its signal: text unchanged, any other value
 * as JSON.
 */
export function messageContent({ url, msg }: Message): string {
  return url ?? (typeof msg === 'string' ? msg : JSON.stringify(msg ?? null));
}

/** Formats a message as one line for a terminal: time, sender, content. */
export function messageLine(message: Message, style: Style, channel?: string): string {
  const time = new Date(message.ts).toTimeString().slice(0, 8);
  const { metadata, from, seq, attempt, dead } = message;
  const notes = [
    metadata && Object.keys(metadata).length > 0 ? printable(JSON.stringify(metadata)) : null,
    attempt !== undefined && attempt > 1 ? `attempt ${attempt}` : null,
    dead
      ? `dead letter of ${printable(dead.channel)}, group ${printable(dead.group)}: ${whyDead(dead.reason, dead.attempts)}`
      : null,
    message.gap ? 'earlier messages have expired' : null,
  ].filter((note) => note !== null);
  const where = channel === undefined ? '' : ` ${style.bold(printable(channel))}`;
  const tail = notes.length > 0 ? `  ${style.dim(notes.join(' · '))}` : '';
  const content = printable(messageContent(message)).replaceAll('\n', '\\n');
  return `${style.dim(`${time} #${seq}`)}${where} ${style.cyan(printable(from))}  ${content}${tail}`;
}

/** Returns why a message became a dead letter. */
export function whyDead(reason: DeadLetter['reason'], attempts: number): string {
  if (reason === 'attempts')
    return attempts === 1 ? 'its only attempt failed' : `all ${attempts} attempts failed`;
  return reason === 'age' ? 'it expired before anyone handled it' : 'its pointer had expired or was revoked';
}
