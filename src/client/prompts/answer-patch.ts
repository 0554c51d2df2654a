import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { ANSWER_PATCH_OPS } from '../../base/limits.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';

/** The patch in a model's answer: its operations, or the reason why it is rejected. */
export type AnswerPatch = { readonly ops: readonly PatchOp[] } | { readonly refused: string };

/** Matches a fenced block at the end of a text. The fences are on their own lines. */
const BLOCK = /(?:^|\n)(`{3,}|~{3,})[ \t]*relay-patch[ \t]*\r?\n([\s\S]*?)\r?\n?\1[ \t]*\s*$/;

const OPENING = /[`~]*(?:`{3}|~{3}) ?relay-patch/g;

const LISTS = new Set(['facts', 'constraints', 'open_questions', 'decisions', 'plan']);

/**
 * Reads the patch at the end of an answer. Returns null if there is none. A patch may only `add` or `replace`
 * single items of the lists, fields of these items, or the summary. The author of every item is the agent
 * that answers, even if the model wrote another name.
 */
export function answerPatch(tail: string, by: string, newId: () => string): AnswerPatch | null {
  const block = lastBlock(tail);
  if (block === null) return null;
  let parsed: unknown;
  try {
    parsed = JSON.parse(block);
  } catch (error) {
    return { refused: `it is not JSON: ${(error as Error).message}` };
  }
  if (!Array.isArray(parsed)) return { refused: 'it is not an array of operations' };
  if (parsed.length > ANSWER_PATCH_OPS)
    return { refused: `it has ${parsed.length} operations; at most ${ANSWER_PATCH_OPS} are allowed` };
  const ops: PatchOp[] = [];
  for (const [index, op] of parsed.entries()) {
    const signed = sign(op, by, newId);
    if (typeof signed === 'string') return { refused: `operation ${index}: ${signed}` };
    ops.push(...signed);
  }
  return { ops };
}

function lastBlock(text: string): string | null {
  // Use the last opening fence, because an earlier block may be an example.
  const start = [...text.matchAll(OPENING)].at(-1)?.index;
  if (start === undefined || (start > 0 && text[start - 1] !== '\n')) return null;
  return BLOCK.exec(text.slice(start))?.[2] ?? null;
}

function sign(op: Json, by: string, newId: () => string): PatchOp[] | string {
  if (!isJsonObject(op)) return 'it is not an object';
  if (op.op !== 'add' && op.op !== 'replace')
    return `"${String(op.op)}" is not allowed, only add and replace`;
  if (typeof op.path !== 'string' || op.value === undefined) return 'it needs a path and a value';
  const [, list, item, ...deeper] = op.path.split('/');
  const { path } = op;
  if (path === '/session_summary') {
    return typeof op.value === 'string'
      ? [{ op: 'add', path, value: op.value }]
      : 'the summary must be a string';
  }
  if (list === undefined || !LISTS.has(list)) return `${path} cannot be changed by an answer`;
  if (item === undefined || item === '') return `${path} is a list; change one item at a time`;
  if (deeper.length > 0) {
    if (deeper[0] === 'by' || deeper[0] === 'at') return `${path} is set by the relay and cannot be changed`;
    const mark: PatchOp = { op: 'add', path: `/${list}/${item}/by`, value: by };
    return [{ op: op.op, path, value: op.value }, mark];
  }
  if (!isJsonObject(op.value)) return `an item of /${list} must be an object`;
  const { at: _, ...fields } = op.value;
  const value: JsonObject = {
    ...fields,
    id: typeof fields.id === 'string' && fields.id ? fields.id : newId(),
    by,
  };
  return [{ op: op.op, path, value }];
}
