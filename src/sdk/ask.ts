import { RelayError } from '../base/errors.ts';
import { QUESTION_POLL_MS } from '../base/limits.ts';
import { pause } from '../base/pause.ts';
import type { AskedQuestion, NewQuestion, QuestionsApi } from '../contract/questions.ts';

/** Options of a question to a person. */
export interface AskOptions extends Omit<NewQuestion, 'question' | 'expires_in'> {
  /** Seconds until the question expires. Default: one week. */
  readonly timeout?: number;
  /** Stops waiting and withdraws the question. */
  readonly signal?: AbortSignal;
  /** Called with the question after it was asked, before the wait for the answer. */
  onAsked?(question: AskedQuestion): void | Promise<void>;
}

/**
 * Asks a person and waits for the answer. Rejects with `failed` if nobody answers in time and there is no
 * default answer.
 */
export async function askPerson(
  questions: QuestionsApi,
  question: string,
  { timeout, signal, onAsked, ...input }: AskOptions = {},
): Promise<AskedQuestion> {
  const posted = await questions.ask({ ...input, question, ...(timeout ? { expires_in: timeout } : {}) });
  await onAsked?.(posted);
  try {
    return await waitForAnswer(questions, posted, signal);
  } catch (error) {
    // If the question cannot be withdrawn, it stays open until it expires.
    if (signal?.aborted) await questions.withdraw(posted.id).catch(() => {});
    throw error;
  }
}

/** Waits until a question is answered. After a crash, a program can call this again with the same question. */
export async function waitForAnswer(
  questions: QuestionsApi,
  posted: AskedQuestion,
  signal?: AbortSignal,
): Promise<AskedQuestion> {
  for (let current = posted; ; current = await questions.get(posted.id)) {
    if (current.status === 'answered') return current;
    if (current.status !== 'open')
      throw new RelayError('failed', {
        what: `Nobody answered: the question ${current.status === 'expired' ? 'has expired' : 'was withdrawn'}.`,
        hint: 'Ask again with a longer timeout or with a default answer.',
      });
    await pause(QUESTION_POLL_MS, signal);
    if (signal?.aborted) throw new RelayError('aborted', { what: 'the wait for the answer was canceled' });
  }
}
