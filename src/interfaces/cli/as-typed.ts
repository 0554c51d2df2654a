import type { Draft } from '../../client/projects/brief.ts';

/**
 * Our own words, with every command as it has to be typed here: in a clone, or with npx, there is no `relay` on the PATH. Not for
 * the words of others. A sentence about a relay stays as it is.
 */
export function asTyped(text: string, program: string, commands: readonly string[]): string {
  if (program === 'relay') return text;
  const article = '\\b(?:[Aa]|[Tt]he|[Nn]o|[Tt]his|[Tt]hat|[Yy]our|[Aa]nother) ';
  const line = `(?<![\\w./-]|${article})relay(?= (?:(?:${commands.join('|')})\\b|--help))`;
  return text.replace(new RegExp(line, 'g'), () => program);
}

/** What stands around the data of a brief, and the line that a hand-off waits with. */
export function draftAsTyped(draft: Draft, typed: (text: string) => string): Draft {
  return {
    ...draft,
    warnings: draft.warnings.map(typed),
    parts: draft.parts.map((part) => ({
      ...part,
      source: typed(part.source),
      lines: part.lines.map((line) => {
        const [own, ...rest] = line.text.split(/(?=its result waits: relay )/);
        return { ...line, text: [own, ...rest.map(typed)].join('') };
      }),
    })),
    closing: draft.closing.map(typed),
  };
}
