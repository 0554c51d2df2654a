import { parentPort } from 'node:worker_threads';
import { countTokens } from '../../text/token-count.ts';
import type { TokenAnswer, TokenQuestion } from './token-counter.ts';

/** The thread behind ThreadTokenCounter. */
parentPort?.on('message', ({ id, text }: TokenQuestion) => {
  parentPort?.postMessage(answer(id, text));
});

function answer(id: number, text: string): TokenAnswer {
  try {
    return { id, ...countTokens(text) };
  } catch (error) {
    return { id, error: String(error) };
  }
}
