import type { Json } from '../../base/json.ts';

/** Path to a value in a template or condition. `steps.review.output` has three parts. */
export type Reference = readonly string[];

export type Expression =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'reference'; readonly path: Reference }
  | { readonly kind: 'not'; readonly of: Expression }
  | {
      readonly kind: 'and' | 'or' | Comparison;
      readonly left: Expression;
      readonly right: Expression;
    };

type Comparison = '==' | '!=' | '<' | '>' | '<=' | '>=' | 'contains';

const TOKEN =
  /\s*(?:(&&|\|\||==|!=|<=|>=|[<>!()])|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(-?\d+(?:\.\d+)?)|([A-Za-z_][\w-]*(?:\.[\w-]+)*))/y;

type Token = { readonly sign: string } | { readonly value: Json } | { readonly word: string };

/**
 * Parses a condition such as `steps.review.output contains 'bug' && inputs.fix != false`. Throws an `Error`
 * if the condition is invalid.
 */
export function parseExpression(text: string): Expression {
  const tokens = tokenize(text);
  let at = 0;
  const sign = (...signs: string[]): string | null => {
    const token = tokens[at];
    const found = token && ('sign' in token ? token.sign : 'word' in token ? token.word : null);
    if (found === null || found === undefined || !signs.includes(found)) return null;
    at++;
    return found;
  };
  const chain = (signs: string[], kind: 'and' | 'or', next: () => Expression) => (): Expression => {
    let left = next();
    while (sign(...signs)) left = { kind, left, right: next() };
    return left;
  };
  const primary = (): Expression => {
    if (sign('(')) {
      const inner = or();
      if (!sign(')')) throw new Error('a closing parenthesis ) is missing');
      return inner;
    }
    const token = tokens[at++];
    if (!token) throw new Error('a value is missing at its end');
    if ('value' in token) return { kind: 'value', value: token.value };
    if ('sign' in token) throw new Error(`a value is expected before "${token.sign}"`);
    const constant = CONSTANTS.get(token.word);
    if (constant !== undefined) return { kind: 'value', value: constant };
    return { kind: 'reference', path: token.word.split('.') };
  };
  const comparison = (): Expression => {
    const left = primary();
    const found = sign(...Object.keys(COMPARE));
    return found ? { kind: found as Comparison, left, right: primary() } : left;
  };
  const not = (): Expression => (sign('!', 'not') ? { kind: 'not', of: not() } : comparison());
  const and = chain(['&&', 'and'], 'and', not);
  const or = chain(['||', 'or'], 'or', and);
  const whole = or();
  if (at < tokens.length) throw new Error('unexpected text after its end');
  return whole;
}

const CONSTANTS = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const from = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`unexpected "${text.slice(from, from + 20).trim()}"`);
    const [, signs, double, single, number, word] = match;
    if (signs !== undefined) tokens.push({ sign: signs });
    else if (double !== undefined || single !== undefined)
      tokens.push({ value: (double ?? single)!.replace(/\\(.)/g, '$1') });
    else if (number !== undefined) tokens.push({ value: Number(number) });
    else tokens.push({ word: word! });
  }
  return tokens;
}

export function referencesOf(expression: Expression): Reference[] {
  if (expression.kind === 'value') return [];
  if (expression.kind === 'reference') return [expression.path];
  if (expression.kind === 'not') return referencesOf(expression.of);
  return [...referencesOf(expression.left), ...referencesOf(expression.right)];
}

export function evaluate(expression: Expression, resolve: (path: Reference) => Json): Json {
  const { kind } = expression;
  if (kind === 'value') return expression.value;
  if (kind === 'reference') return resolve(expression.path);
  if (kind === 'not') return !truth(evaluate(expression.of, resolve));
  const left = evaluate(expression.left, resolve);
  if (kind === 'and' && !truth(left)) return false;
  if (kind === 'or' && truth(left)) return true;
  const right = evaluate(expression.right, resolve);
  if (kind === 'and' || kind === 'or') return truth(right);
  return COMPARE[kind](left, right);
}

/**
 * Returns whether a value is treated as true. Empty texts, empty lists, `0`, `false`, `no` and null are
 * treated as false.
 */
export function truth(value: Json): boolean {
  if (typeof value === 'string') return !['', 'false', 'no', '0'].includes(value.trim().toLowerCase());
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

const COMPARE: { readonly [kind in Comparison]: (left: Json, right: Json) => boolean } = {
  '==': (left, right) => plain(left) === plain(right),
  '!=': (left, right) => plain(left) !== plain(right),
  '<=': (left, right) => Number(left) <= Number(right),
  '>=': (left, right) => Number(left) >= Number(right),
  '<': (left, right) => Number(left) < Number(right),
  '>': (left, right) => Number(left) > Number(right),
  contains: (left, right) =>
    Array.isArray(left)
      ? left.some((item) => plain(item) === plain(right))
      : plain(left).includes(plain(right)),
};

/**
 * Converts a value to text for a comparison, because values from the command line are texts. Removes
 * surrounding white space.
 */
function plain(value: Json): string {
  return typeof value === 'string' ? value.trim() : JSON.stringify(value);
}

/** Matches a placeholder in a text, such as `{{ inputs.topic }}`. */
const PLACE = /\{\{\s*([\w.-]*)\s*\}\}/g;

export function templateReferences(text: string): Reference[] {
  return [...text.matchAll(PLACE)].map((match) => match[1]!.split('.'));
}

/** Replaces each placeholder in a template with the result of `fill`. */
export function fillTemplate(text: string, fill: (path: Reference) => string): string {
  return text.replace(PLACE, (_, path: string) => fill(path.split('.')));
}

/**
 * Fills the placeholders in all texts inside a value. A text that is only a placeholder becomes the
 * referenced value, which may be a list or an object.
 */
export function fillValue(value: Json, resolve: (path: Reference) => Json): Json {
  if (typeof value === 'string') {
    const only = /^\s*\{\{\s*([\w.-]*)\s*\}\}\s*$/.exec(value);
    return only ? resolve(only[1]!.split('.')) : fillTemplate(value, (path) => asText(resolve(path)));
  }
  if (Array.isArray(value)) return value.map((item) => fillValue(item, resolve));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillValue(item, resolve)]));
}

export function valueReferences(value: Json): Reference[] {
  if (typeof value === 'string') return templateReferences(value);
  if (value === null || typeof value !== 'object') return [];
  return Object.values(value).flatMap(valueReferences);
}

export function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
