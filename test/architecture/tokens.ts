/**
 * The tokens of a TypeScript source, as far as finding imports needs them: words, strings and punctuation. Comments
 * and regular expressions are left out, so that an import that is only talked about is not taken for one. Templates
 * are strings; what stands in their `${…}` is read as code.
 */
export interface Token {
  readonly kind: 'word' | 'string' | 'punctuation';
  /** A string without its quotes. */
  readonly text: string;
  readonly line: number;
}

/** A slash behind one of these begins a regular expression; behind another word it divides. */
const BEFORE_REGEX = new Set(
  'return typeof case do else in of void delete throw new await yield instanceof'.split(' '),
);

const WORD = /[\p{L}\p{N}_$#]+/uy;
const STRING = /'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?/y;
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const TEMPLATE_TEXT = /(?:[^`\\$]+|\\[\s\S]|\$(?!\{))*/y;

export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  /** The braces open in each template that is being read, innermost last. */
  const templates: number[] = [];
  let at = 0;
  let line = 1;

  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0];
    if (found === undefined) return undefined;
    at += found.length;
    return found;
  };
  const push = (kind: Token['kind'], text: string, spanned: string): void => {
    tokens.push({ kind, text, line });
    line += count(spanned, '\n');
  };
  const template = (): void => {
    const text = take(TEMPLATE_TEXT)!;
    push('string', text, text);
    if (source.startsWith('${', at)) {
      at += 2;
      templates.push(0);
    } else at++;
  };

  while (at < source.length) {
    const char = source[at]!;
    if (/\s/.test(char)) {
      if (char === '\n') line++;
      at++;
    } else if (source.startsWith('//', at) || source.startsWith('/*', at)) {
      line += count(take(COMMENT)!, '\n');
    } else if (char === "'" || char === '"') {
      const text = take(STRING)!;
      push('string', text.slice(1, -1), text);
    } else if (char === '`') {
      at++;
      template();
    } else if (char === '/' && regexMayFollow(tokens.at(-1)) && take(REGEX) !== undefined) {
      // Stands where a value stands, so that a slash behind it divides.
      push('string', '', '');
    } else {
      const word = take(WORD);
      if (word !== undefined) {
        push('word', word, '');
        continue;
      }
      at++;
      if (char === '}' && templates.at(-1) === 0) {
        templates.pop();
        template();
        continue;
      }
      if (templates.length > 0 && char === '{') templates[templates.length - 1]!++;
      if (templates.length > 0 && char === '}') templates[templates.length - 1]!--;
      push('punctuation', char, '');
    }
  }
  return tokens;
}

function regexMayFollow(last: Token | undefined): boolean {
  if (last === undefined) return true;
  if (last.kind === 'word') return BEFORE_REGEX.has(last.text);
  return last.kind === 'punctuation' && !')]}'.includes(last.text);
}

function count(text: string, char: string): number {
  return text.split(char).length - 1;
}
