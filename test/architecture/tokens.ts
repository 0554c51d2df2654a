/** A word, a string or a punctuation mark of a TypeScript source. */
export interface Token {
  readonly kind: 'word' | 'string' | 'punctuation';
  /** The text; for a string, without its quotes. */
  readonly text: string;
  readonly line: number;
}

/** A slash after one of these words begins a regular expression; after any other word it is a division. */
const BEFORE_REGEX = new Set(
  'return typeof case do else in of void delete throw new await yield instanceof'.split(' '),
);

const WORD = /[\p{L}\p{N}_$#]+/uy;
const STRING = /'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?/y;
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const TEMPLATE_TEXT = /(?:[^`\\$]+|\\[\s\S]|\$(?!\{))*/y;

/**
 * Splits a TypeScript source into words, strings and punctuation, as needed to find imports. Skips comments and regular
 * expressions, because they may mention imports. Templates are strings; the code in their `${…}` is tokenized.
 */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  /** Number of open braces in each open template, innermost last. */
  const templates: number[] = [];
  let at = 0;
  let line = 1;

  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const token = pattern.exec(source)?.[0];
    if (token === undefined) return undefined;
    at += token.length;
    return token;
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
      // A regular expression is a value, so a slash after it is a division.
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
