import type { Model, ModelAnswer, PromptText, ToolUse } from '../../src/client/prompts/types.ts';
import type { Question } from './questions.ts';

export const NOT_FOUND = 'Nothing was found about it.';

/**
 * Returns a fake model. It looks up in the table of questions which facts answer a question. If a fact is in its prompt
 * or in a pulled text, it answers with the words around the fact. Otherwise it answers that nothing was found. Its tool
 * calls use only words of the question: first a search for all words, then the lines with the longest word.
 */
export function readerOf(questions: readonly Question[], onRead: (input: string) => void): Model {
  return {
    name: 'reader',
    async answer(prompt: PromptText, o, use: ToolUse = { tools: [], rounds: [], last: true }) {
      const toolTexts = use.rounds.flatMap(({ answer, results }) =>
        results.flatMap((result, at) => [answer.calls![at]!.arguments, result]),
      );
      const tools = use.tools.length > 0 ? [JSON.stringify(use.tools)] : [];
      onRead([prompt.system, prompt.user, ...tools, ...toolTexts].join('\n'));
      const questionText = prompt.user.slice(prompt.user.lastIndexOf(ASKED) + ASKED.length);
      const question = questions.find(({ ask }) => ask === questionText);
      if (!question) throw new Error(`nobody asked "${questionText}"`);
      const visibleTexts = [
        prompt.user.slice(0, -questionText.length),
        ...use.rounds.flatMap(({ results }) => results),
      ];
      const answerText = around(question, visibleTexts.join('\n'));
      const answer =
        answerText === null
          ? callFor(questionText, use.last ? GIVEN_UP : use.rounds.length, visibleTexts[0]!)
          : { text: answerText };
      o.onText?.(answer.text);
      return answer;
    },
  };
}

const ASKED = 'Your task:\n';

/**
 * Returns the text around the first of the `facts` that occurs in a text, or null. If there are stale values, the reader
 * believes the value that comes first in the text, and returns only this value.
 */
export function around({ facts, stale = [] }: Question, text: string): string | null {
  if (stale.length > 0) {
    const matches = [...facts, ...stale]
      .map((fact) => pattern(fact).exec(text))
      .filter((match) => match !== null);
    return matches.toSorted((a, b) => a.index - b.index)[0]?.[0] ?? null;
  }
  for (const fact of facts) {
    const at = text.search(pattern(fact));
    if (at >= 0) return text.slice(Math.max(0, at - 100), at + fact.length + 100);
  }
  return null;
}

/** Returns whether an answer is correct: it contains a fact, or says "not found" to a question without facts. */
export function isRight({ ask, facts }: Question, answer: string): boolean {
  return facts.length === 0 ? answer === NOT_FOUND : around({ ask, facts }, answer) !== null;
}

/**
 * Matches whole words only: `204` does not match `12041`. A line break may replace a space. `…` matches up to 20
 * characters of one line.
 */
function pattern(fact: string): RegExp {
  const kin = (char: string) => (/\d/.test(char) ? '\\d' : /[a-z]/i.test(char) ? '[A-Za-z]' : '$^');
  const words = fact.split(' ').map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const source = words.join('\\s+').replace('…', '[^\\n]{0,20}?');
  return new RegExp(`(?<!${kin(fact[0]!)})${source}(?!${kin(fact.at(-1)!)})`);
}

const GIVEN_UP = 2;

/** Returns the tool call of a round: first search for all words, then get the lines with the longest word, then stop. */
function callFor(questionText: string, round: number, promptText: string): ModelAnswer {
  const longest =
    questionText.match(/[a-z]{5,}/gi)?.toSorted((a, b) => b.length - a.length)[0] ?? questionText;
  const ref = /artifact ([0-9a-f]{26})/.exec(promptText)?.[1] ?? 'facts';
  const call = [
    { name: 'search', arguments: JSON.stringify({ query: questionText }) },
    { name: 'pull', arguments: JSON.stringify({ ref, grep: `(?i)${longest}` }) },
  ][round];
  return call ? { text: '', calls: [{ id: `call-${round}`, ...call }] } : { text: NOT_FOUND };
}
