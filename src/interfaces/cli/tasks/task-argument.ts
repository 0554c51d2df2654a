import { parsePointer } from '../../../base/pointer-url.ts';
import type { Io } from '../io.ts';
import { pointerArgument } from '../pointers/pointer-argument.ts';

/** A task is named by its id or by its pointer; `-` for one that is piped in. */
export async function taskArgument(io: Io, word: string): Promise<string> {
  return parsePointer(await pointerArgument(io, word)).id;
}
