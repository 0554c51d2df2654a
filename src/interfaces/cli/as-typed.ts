import type { Draft } from '../../client/projects/brief.ts';

/**
 * Replaces `relay` in printed commands by the command that works for this user: for example npx with the
 * package name, or a path in a clone. Pass only our own texts, never texts of users or agents. The noun, as
 * in "a relay runs", stays unchanged.
 */
export function asTyped(text: string, program: string, commands: readonly string[]): string {
  if (program === 'relay') return text;
  const article = '\\b(?:[Aa]|[Tt]he|[Nn]o|[Tt]his|[Tt]hat|[Yy]our|[Aa]nother) ';
  const line = `(?<![\\w./-]|${article})relay(?= (?:(?:${commands.join('|')})\\b|--help))`;
  return text.replace(new RegExp(line, 'g'), () => program);
}

/**
 * Applies `typed` to the parts of a brief that we wrote: warnings, sources, closing lines and the `relay`
 * command of a hand-off. Quoted texts stay unchanged.
 */
export function draftAsTyped(draft: Draft, typed: (text: string) => string): Draft {
  return {
    ...draft,
    warnings: draft.warnings.map(typed),
    parts: draft.parts.map((part) => ({
      ...part,
      source: typed(part.source),
      lines: part.lines.map((line) => {
        const [own, ...rest] = line.text.split(/(?<=read its result: )(?=relay )/);
        return { ...line, text: [own, ...rest.map(typed)].join('') };
      }),
    })),
    closing: draft.closing.map(typed),
  };
}
