import { GREP_CONTEXT_LINES } from '../../../base/limits.ts';
import type { Part, PartRequest } from '../../../contract/pointers.ts';
import { badUsage, type Flags, type FlagValues } from '../command.ts';
import { parseCount } from '../human.ts';
import type { Io } from '../io.ts';
import { writePayload } from './payload.ts';

/** A part of a payload or an artifact instead of the whole. */
export const PART_FLAGS = {
  lines: { value: 'A-B', help: 'only these lines: 10-40, 10-, 7, or -20 for the last 20' },
  grep: { value: 'PATTERN', help: 'only lines that match (RE2 syntax), with their numbers' },
  context: { short: 'C', value: 'N', help: 'with --grep: lines around each match' },
  'ignore-case': { short: 'i', help: 'with --grep: upper and lower case alike' },
  'json-pointer': {
    value: '/a/b',
    mayBeEmpty: true,
    help: 'only this place of a JSON payload (RFC 6901)',
  },
  outline: { help: 'only headings, definitions or the shape, with line numbers' },
} as const satisfies Flags;

/** The part that the flags ask for, of what `command` takes; undefined where the whole is meant. */
export function partOf(flags: FlagValues<typeof PART_FLAGS>, command: string): PartRequest | undefined {
  const given = (['lines', 'grep', 'json-pointer', 'outline'] as const).filter(
    (name) => flags[name] !== undefined,
  );
  if (given.length > 1) {
    throw badUsage(`--${given[0]} and --${given[1]} do not go together.`, 'Take one part at a time.');
  }
  if (flags.grep === undefined && (flags.context !== undefined || flags['ignore-case'])) {
    throw badUsage('--context and --ignore-case need --grep.', `Use: ${command} --grep PATTERN -C 2`);
  }
  if (flags.lines !== undefined) return { lines: flags.lines };
  if (flags.grep !== undefined) {
    const context = parseCount(flags.context, '--context', { max: GREP_CONTEXT_LINES });
    return { grep: flags.grep, context, ignore_case: flags['ignore-case'] };
  }
  if (flags['json-pointer'] !== undefined) return { json: flags['json-pointer'] };
  return flags.outline ? { outline: true } : undefined;
}

/** A part is lines of text, and lines end. */
export async function writePart(
  io: Io,
  part: Part,
  flags: FlagValues<typeof PART_FLAGS> & { readonly out?: string; readonly force?: boolean },
): Promise<void> {
  if (part.truncated) io.warn(part.about);
  else if (io.interactive && !io.json && !flags.outline) io.note(part.about);
  const { text } = part;
  if (io.json && flags.out === undefined) io.result(part, '');
  else
    await writePayload(
      io,
      new TextEncoder().encode(text === '' || text.endsWith('\n') ? text : `${text}\n`),
      flags,
    );
}
