import type { ClientName } from '../clients/installed-clients.ts';
import type { Exchange } from './recorder.ts';

/** A session that a real client records, and questions that the next agent would ask. */
export interface SessionScript {
  readonly name: string;
  readonly client: ClientName;
  /** Files of the repository before the session. */
  readonly files: { readonly [path: string]: string };
  readonly exchanges: readonly Exchange[];
  /** Question and the words of the answer. All words must be in a text that answers the question. */
  readonly questions: readonly (readonly [question: string, ...answer: string[]])[];
}
