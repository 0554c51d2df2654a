import table from 'relay:token-table';
import { readText } from '../../base/read-text.ts';
import type { TextWork } from '../../domain/text-work.ts';
import { re2Matcher } from '../../text/parts/re2-matcher.ts';
import { takePart } from '../../text/parts/take-part.ts';
import { makePreview } from '../../text/preview/preview.ts';
import { tokenCounter } from '../../text/token-count.ts';
import { openTokenTable } from '../../text/token-table.ts';

const countTokens = tokenCounter(openTokenTable(new Uint8Array(table)));

/** Works where the request is: there is no other thread. */
export const workerTextWork: TextWork = {
  count: async (text) => countTokens(typeof text === 'string' ? text : await readText(text)),
  part: (body, request) => takePart(body, request, re2Matcher),
  preview: async (kind, content) => makePreview(kind, content),
};
