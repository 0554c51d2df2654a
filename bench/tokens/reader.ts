import type { Model, ModelAnswer, PromptText, ToolUse } from '../../src/client/prompts/types.ts';
import type { Question } from './questions.ts';

export const NOT_FOUND = 'Nothing was found about it.';

/**
 * A fake model without knowledge. It answers with the words around a fact that it was shown or that it pulled, and
 * otherwise says that nothing was found. It knows from the table of questions which facts answer a question.
 * Its tool calls use only the question's words: first a search for them, then the lines with the longest of them.
 */
export function readerOf(questions: readonly Question[], onRead: (input: string) => void): Model {
  return {
    name: 'reader',
    async answer(prompt: PromptText, o, use: ToolUse = { tools: [], rounds: [], last: true }) {
      const said = use.rounds.flatMap(({ answer, results }) =>
        results.flatMap((result, at) => [answer.calls![at]!.arguments, result]),
      );
      const tools = use.tools.length > 0 ? [JSON.stringify(use.tools)] : [];
      onRead([prompt.system, prompt.user, ...tools, ...said].join('\n'));
      const words = prompt.user.slice(prompt.user.lastIndexOf(ASKED) + ASKED.length);
      const question = questions.find(({ ask }) => ask === words);
      if (!question) throw new Error(`nobody asked "${words}"`);
      const shown = [prompt.user.slice(0, -words.length), ...use.rounds.flatMap(({ results }) => results)];
      const found = around(question, shown.join('\n'));
      const answer =
        found === null ? callFor(words, use.last ? GIVEN_UP : use.rounds.length, shown[0]!) : { text: found };
      o.onText?.(answer.text);
      return answer;
    },
  };
}

const ASKED = 'Your task:\n';

/**
 * Returns the words around the first fact that a text contains, or null. If a fact was corrected, the reader believes
 * the value that it reads first and returns only that line.
 */
export function around({ facts, stale = [] }: Question, text: string): string | null {
  if (stale.length > 0) {
    const found = [...facts, ...stale]
      .map((fact) => pattern(fact).exec(text))
      .filter((match) => match !== null);
    return found.toSorted((a, b) => a.index - b.index)[0]?.[0] ?? null;
  }
  for (const fact of facts) {
    const at = text.search(pattern(fact));
    if (at >= 0) return text.slice(Math.max(0, at - 100), at + fact.length + 100);
  }
  return null;
}

/** Returns whether an answer contains one of the facts, or says that nothing was found if no text has the answer. */
export function isRight({ ask, facts }: Question, answer: string): boolean {
  return facts.length === 0 ? answer === NOT_FOUND : around({ ask, facts }, answer) !== null;
}

/** Matches whole words only: `204` does not match `12041`. A line break may replace a space. `…` matches within a line. */
function pattern(fact: string): RegExp {
  const kin = (char: string) => (/\d/.test(char) ? '\\d' : /[a-z]/i.test(char) ? '[A-Za-z]' : '$^');
  const words = fact.split(' ').map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const source = words.join('\\s+').replace('…', '[^\\n]{0,20}?');
  return new RegExp(`(?<!${kin(fact[0]!)})${source}(?!${kin(fact.at(-1)!)})`);
}

const GIVEN_UP = 2;

/** First searches for the words, then asks for the lines with the longest of them, then stops. */
function callFor(words: string, round: number, shown: string): ModelAnswer {
  const longest = words.match(/[a-z]{5,}/gi)?.toSorted((a, b) => b.length - a.length)[0] ?? words;
  const ref = /artifact ([0-9a-f]{26})/.exec(shown)?.[1] ?? 'facts';
  const call = [
    { name: 'search', arguments: JSON.stringify({ query: words }) },
    { name: 'pull', arguments: JSON.stringify({ ref, grep: `(?i)${longest}` }) },
  ][round];
  return call ? { text: '', calls: [{ id: `call-${round}`, ...call }] } : { text: NOT_FOUND };
}
