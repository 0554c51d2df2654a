import { parseReadable } from '../../../contract/pointer-url.ts';
import { badUsage, type Invocation } from '../command.ts';
import { type Io, pipedText } from '../io.ts';

/** Opens the relay for the pointer that a command is about: its first word. */
export async function openPointer({ io, args, open }: Invocation) {
  const pointer = await pointerArgument(io, args[0]!);
  const opened = await open();
  return { client: await opened.client(), remote: opened.remote, url: await opened.resolve(pointer) };
}

/** A pointer from the command line, or with `-` from standard input: `relay push f | relay pull -`. */
export async function pointerArgument(io: Io, word: string): Promise<string> {
  const text = word === '-' ? await firstLine(io) : word;
  parseReadable(text);
  return text.trim();
}

async function firstLine(io: Io): Promise<string> {
  const text = await pipedText(io, (given) => /\S\s*\n/.test(given) || given.length > MOST_CHARS);
  const line = text.trim().split('\n')[0]!.slice(0, MOST_CHARS);
  if (line) return line;
  throw badUsage('No pointer came from standard input.', 'Use: relay push FILE | relay pull -');
}

const MOST_CHARS = 4096;
